/** Other programs that write to a table of MariaDB while servers do. */
import { mariadbTables } from '../../under-test/mariadb-tables.js'
import { testOtherPrograms } from '../../under-test/test-other-programs.js'
import { useTables } from '../../under-test/test-shared-tables.js'
import { testAgainstModel } from '../../under-test/test-tables-model.js'

const using = useTables(mariadbTables)

testOtherPrograms(using)
testAgainstModel(using)
