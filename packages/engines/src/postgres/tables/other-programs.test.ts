/** Other programs that write to a table of PostgreSQL while servers do. */
import { postgresTables } from '../../under-test/postgres-tables.js'
import { testOtherPrograms } from '../../under-test/test-other-programs.js'
import { useTables } from '../../under-test/test-shared-tables.js'
import { testAgainstModel } from '../../under-test/test-tables-model.js'

const using = useTables(postgresTables)

testOtherPrograms(using)
testAgainstModel(using)
