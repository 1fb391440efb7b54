import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { openRedisStore } from './redis-store.js'

let redis: RunningRedis
let stores = 0

beforeAll(async () => {
  redis = await startRedis({ settings: DURABLE })
})
afterAll(() => redis.stop())

function open(name: string): Promise<Store> {
  return openRedisStore({ url: redis.url, name })
}

describe('alone', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const name = `alone-${stores++}`
      let store = await open(name)
      return {
        store,
        async reopen() {
          await store.close()
          store = await open(name)
          return store
        },
        dispose: () => store.close(),
      }
    },
  })
})

describe('two servers', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const name = `two-${stores++}`
      let store = await open(name)
      const peer = await open(name)
      return {
        store,
        peer,
        async reopen() {
          await peer.close()
          await store.close()
          store = await open(name)
          return store
        },
        async dispose() {
          await peer.close()
          await store.close()
        },
      }
    },
    seed: 2,
  })
})
