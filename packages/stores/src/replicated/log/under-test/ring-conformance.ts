/** The whole conformance suite, by two servers over the same nodes. */
import { setImmediate } from 'node:timers/promises'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { openRingStore, type RingNodeAddress } from '../open-ring-store.js'

/** `nodes`: of a new ring each time. */
export function testRing(
  nodes: () => readonly RingNodeAddress[],
  { seed, steps }: { readonly seed: number; readonly steps: number },
): void {
  testStore({
    kit: { describe, test, expect, nextTurn: setImmediate },
    async open() {
      const own = nodes()
      const open = () => openRingStore({ nodes: own, onWarning: () => {} })
      let store = await open()
      const peer = await open()
      return {
        store,
        peer,
        async reopen() {
          await peer.close()
          await store.close()
          store = await open()
          return store
        },
        async dispose() {
          await peer.close()
          await store.close()
        },
      }
    },
    seed,
    steps,
  })
}
