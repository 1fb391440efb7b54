import { openCassandraStore } from '@freshet/stores/cassandra'
import { type RunningCassandra, startCassandra } from '@freshet/stores/under-test/start-cassandra'
import { afterAll, beforeAll } from 'vitest'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

let engine: RunningCassandra
let stores = 0
beforeAll(async () => {
  engine = await startCassandra()
})
afterAll(() => engine?.stop())

testBucketDeletion('Cassandra', () =>
  openCassandraStore({ url: `${engine.url}/freshet?name=deletion_${stores++}`, onWarning: () => {} }),
)
