import { openMariadbStore } from '@freshet/stores/mariadb'
import { type RunningMariadb, startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { afterAll, beforeAll } from 'vitest'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

let engine: RunningMariadb
let stores = 0
beforeAll(async () => {
  engine = await startMariadb()
})
afterAll(() => engine?.stop())

testBucketDeletion('MariaDB', () =>
  openMariadbStore({ url: engine.url, prefix: `deletion_${stores++}_`, onWarning: () => {} }),
)
