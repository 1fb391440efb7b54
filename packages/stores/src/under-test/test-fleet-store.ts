/** The conformance of a store that several servers may have open at once: by one of them, and by two. */
import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'

/** Begins a new store; what it returns opens it, as often as it is called. */
export type BeginStore = () => () => Promise<Store>

export interface FleetTestOptions {
  readonly seed?: number
  readonly steps?: number
}

const kit = { describe, test, expect, nextTurn: setImmediate }

export function testFleetStore(begin: BeginStore, options: Omit<FleetTestOptions, 'seed'> = {}): void {
  describe('alone', () => testAlone(begin, options))
  describe('with another server', () => testWithPeer(begin, { seed: 2, ...options }))
}

function testAlone(begin: BeginStore, options: FleetTestOptions): void {
  testStore({
    kit,
    async open() {
      const open = begin()
      let store = await open()
      return {
        store,
        async reopen() {
          await store.close()
          store = await open()
          return store
        },
        dispose: () => store.close(),
      }
    },
    ...options,
  })
}

export function testWithPeer(begin: BeginStore, options: FleetTestOptions): void {
  testStore({
    kit,
    async open() {
      const open = begin()
      // At once, as when a fleet is started.
      let [store, peer] = await Promise.all([open(), open()])
      const close = () => Promise.all([peer.close(), store.close()])
      return {
        store,
        peer,
        async reopen() {
          await close()
          store = await open()
          return store
        },
        async dispose() {
          await close()
        },
      }
    },
    ...options,
  })
}
