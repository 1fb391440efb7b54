/** Whatever rows are hidden from a caller, the answers are the same: over MariaDB. */
import { openMariadbStore } from '@freshet/engines/mariadb'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { storesOver } from '../testing/running-engine.js'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

const open = storesOver(startMariadb, ({ url }, number) =>
  openMariadbStore({ url, prefix: `hidden_${number}_`, onWarning: () => undefined }),
)

testHiddenRows('MariaDB', open, { seedFirst: 300, seeds: 4, requests: 50 })
