import { afterAll, beforeAll } from 'vitest'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
import { openRedisStore } from './redis-store.js'

let redis: RunningRedis
let stores = 0

beforeAll(async () => {
  redis = await startRedis({ settings: DURABLE })
})
afterAll(() => redis.stop())

testFleetStore(() => {
  const name = `store-${stores++}`
  return () => openRedisStore({ url: redis.url, name })
})
