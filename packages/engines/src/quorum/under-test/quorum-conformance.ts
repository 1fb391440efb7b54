/** Runs the conformance suite with two servers over the same nodes. */
import { setImmediate } from 'node:timers/promises'
import { type ConformanceOptions, testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { openQuorumStore, type QuorumNodeAddress } from '../open-quorum-store.js'

const WHOLE: ConformanceOptions['kit'] = { describe, test, expect, nextTurn: setImmediate }

export interface QuorumTestOptions {
  /** Declares the tests; default: the whole suite. */
  readonly kit?: ConformanceOptions['kit']
  readonly seed: number
  readonly steps: number
  readonly queryBuckets: number
}

/** `nodes` returns the nodes of a new quorum each time. */
export function testQuorum(
  nodes: () => readonly QuorumNodeAddress[],
  { kit = WHOLE, ...walks }: QuorumTestOptions,
): void {
  testStore({
    kit,
    async open() {
      const own = nodes()
      const open = () => openQuorumStore({ nodes: own, onWarning: () => {} })
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
    ...walks,
  })
}
