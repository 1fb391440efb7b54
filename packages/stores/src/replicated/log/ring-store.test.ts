import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { openRingStore, type RingNodeAddress } from './open-ring-store.js'
import { testRing } from './under-test/ring-conformance.js'
import { memoryNodes } from './under-test/shared-nodes.js'

const kit = { describe, test, expect, nextTurn: setImmediate }

function open(nodes: readonly RingNodeAddress[]): Promise<Store> {
  return openRingStore({ nodes, onWarning: () => {} })
}

describe('alone', () => {
  testStore({
    kit,
    async open() {
      const nodes = memoryNodes(3)
      let store = await open(nodes)
      return {
        store,
        async reopen() {
          await store.close()
          store = await open(nodes)
          return store
        },
        dispose: () => store.close(),
      }
    },
    steps: 2000,
  })
})

describe('with another server, over five nodes', () => {
  testRing(() => memoryNodes(5), { seed: 2, steps: 2000 })
})
