/** Whatever rows are hidden from a caller, the answers are the same: over PostgreSQL. */
import { openPostgresStore } from '@freshet/engines/postgres'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { storesOver } from '../testing/running-engine.js'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

const open = storesOver(startPostgres, ({ url }, number) =>
  openPostgresStore({ url, schema: `hidden_${number}`, onWarning: () => undefined }),
)

testHiddenRows('PostgreSQL', open, { seedFirst: 200, seeds: 4, requests: 50 })
