import { openMariadbStore } from '@freshet/engines/mariadb'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { storesOver } from '../../testing/running-engine.js'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

const open = storesOver(startMariadb, ({ url }, number) =>
  openMariadbStore({ url, prefix: `deletion_${number}_`, onWarning: () => {} }),
)

testBucketDeletion('MariaDB', open)
