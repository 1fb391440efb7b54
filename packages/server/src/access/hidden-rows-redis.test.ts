/** Whatever rows are hidden from a caller, the answers are the same: over Redis. */
import type { Store } from '@freshet/core/store'
import { openRedisStore } from '@freshet/stores/redis'
import { type RunningRedis, startRedis } from '@freshet/stores/under-test/redis'
import { afterAll, beforeAll, test } from 'vitest'
import { testHiddenRows } from './under-test/test-hidden-rows.js'

let engine: RunningRedis
let stores = 0
beforeAll(async () => {
  engine = await startRedis()
})
afterAll(() => engine?.stop())

const open = (): Promise<Store> =>
  openRedisStore({ url: engine.url, name: `hidden-${stores++}`, onWarning: () => undefined })

test.each(Array.from({ length: 4 }, (_, i) => 400 + i))('Redis: hidden rows change no answer (seed %i)', seed =>
  testHiddenRows({ openStores: async () => [await open(), await open()], seed, requests: 50 }),
)
