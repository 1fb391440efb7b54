import { afterAll, beforeAll } from 'vitest'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
import { openRedisStore } from './open-redis-store.js'

let redis: RunningRedis
let stores = 0

beforeAll(async () => {
  // In memory: if a busy disk hid commits for a second, their keys would be put into the log twice.
  redis = await startRedis()
})
afterAll(() => redis.stop())

testFleetStore(() => {
  const name = `store-${stores++}`
  return () => openRedisStore({ url: redis.url, name, onWarning: () => {} })
})
