import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../memory/index.js'
import { testDroppedIndex } from '../under-test/test-dropped-index.js'
import { ENTRIES } from './entry-keys.js'
import { openQuorumStore, type QuorumNodeAddress } from './open-quorum-store.js'
import { testQuorum } from './under-test/quorum-conformance.js'
import { memoryNodes, sharedNode } from './under-test/shared-nodes.js'

const kit = { describe, test, expect, nextTurn: setImmediate }

function open(nodes: readonly QuorumNodeAddress[]): Promise<Store> {
  return openQuorumStore({ nodes, onWarning: () => {} })
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
  testQuorum(() => memoryNodes(5), { seed: 2, steps: 2000, queryBuckets: 40 })
})

test('the entries of a dropped index are removed from every node', async () => {
  const nodes = Array.from({ length: 3 }, () => createMemoryStore())
  const store = await open(nodes.map((node, i) => sharedNode(`memory ${i + 1}`, node)))
  await testDroppedIndex(store, async () => {
    const counts = await Promise.all(
      nodes.map(async node => (await node.scan(ENTRIES, { limit: 5000 })).entries.length),
    )
    return counts.every(count => count === counts[0]) ? counts[0]! : -1
  })
  await store.close()
})

test('entries that are too long for a key of a node are found, in order', async () => {
  const nodes = memoryNodes(3)
  const store = await open(nodes)
  const text = 'é'.repeat(200)
  const object = (id: string, last: number) => ({
    ...{ key: `a/b/${id}`, contentType: 'application/json' },
    body: Buffer.from(JSON.stringify({ x: text, y: text, z: text, last })),
  })
  const indexes = [{ name: 'long', fields: ['x', 'y', 'z', 'last'] }]
  const declared = { key: 'a/b', contentType: 'application/json', body: Buffer.from('{}'), indexes }
  const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(id => id.repeat(100))
  await store.commit({ writes: [declared, ...ids.map((id, i) => object(id, i))] })
  const where = { x: text, y: text, z: text }
  for (const descending of [false, true]) {
    const found: string[] = []
    for (let after: string | undefined; ; ) {
      const sort = [{ field: 'last', descending }]
      const page = await store.query('a/b', { where, sort, limit: 2, ...(after !== undefined && { after }) })
      found.push(...page.entries.map(({ id }) => id))
      if (page.next === undefined) break
      after = page.next
    }
    expect(found).toEqual(descending ? ids.toReversed() : ids)
  }
  await store.close()
})
