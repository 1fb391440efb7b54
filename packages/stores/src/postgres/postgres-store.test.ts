import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { testStore } from '@freshet/core/store/conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { openPostgresStore } from './open-postgres-store.js'

let postgres: RunningPostgres

beforeAll(async () => {
  postgres = await startPostgres()
})

afterAll(endPostgres)

describe('alone', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const options = { url: postgres.url, schema: aSchema() }
      let store = await openPostgresStore(options)
      return {
        store,
        async reopen() {
          await store.close()
          store = await openPostgresStore(options)
          return store
        },
        dispose: () => store.close(),
      }
    },
  })
})

describe('with another server', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const options = { url: postgres.url, schema: aSchema() }
      // At once, as when a fleet is started.
      let [store, peer] = await Promise.all([openPostgresStore(options), openPostgresStore(options)])
      return {
        store,
        peer,
        async reopen() {
          await Promise.all([peer.close(), store.close()])
          store = await openPostgresStore(options)
          return store
        },
        async dispose() {
          await Promise.all([peer.close(), store.close()])
        },
      }
    },
    seed: 2,
  })
})

function aSchema(): string {
  return `test_${randomBytes(6).toString('hex')}`
}
