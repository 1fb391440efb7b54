import { openRedisStore } from '@freshet/stores/redis'
import { type RunningRedis, startRedis } from '@freshet/stores/under-test/redis'
import { afterAll, beforeAll } from 'vitest'
import { testBucketDeletion } from './under-test/test-bucket-deletion.js'

let engine: RunningRedis
let stores = 0
beforeAll(async () => {
  engine = await startRedis()
})
afterAll(() => engine?.stop())

testBucketDeletion('Redis', () =>
  openRedisStore({ url: engine.url, name: `deletion-${stores++}`, onWarning: () => {} }),
)
