import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { testStore } from '@freshet/core/store/conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { openMariadbStore } from './open-mariadb-store.js'

let mariadb: RunningMariadb

beforeAll(async () => {
  mariadb = await startMariadb()
})

afterAll(endMariadb)

describe('alone', () => {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const options = { url: mariadb.url, prefix: aPrefix() }
      let store = await openMariadbStore(options)
      return {
        store,
        async reopen() {
          await store.close()
          store = await openMariadbStore(options)
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
      const options = { url: mariadb.url, prefix: aPrefix() }
      // At once, as when a fleet is started.
      let [store, peer] = await Promise.all([openMariadbStore(options), openMariadbStore(options)])
      return {
        store,
        peer,
        async reopen() {
          await Promise.all([peer.close(), store.close()])
          store = await openMariadbStore(options)
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

function aPrefix(): string {
  return `test_${randomBytes(6).toString('hex')}_`
}
