/** Nodes that belong to another layout, or refuse requests. */

import { createMemoryStore } from '@freshet/engines/memory'
import { FreshetError } from '@freshet/protocol'
import { expect, test } from 'vitest'
import { collectTombstones, type Node, openCells } from '../index.js'
import { createStoreNode } from '../nodes/store-node.js'

const KEY = 'shop/products/42'

function text(value: string) {
  return { contentType: 'text/plain', body: Buffer.from(value) }
}

function threeNodes(): Node[] {
  return ['a', 'b', 'c'].map(() => ({ ...methodsOf(createStoreNode(createMemoryStore())), close: async () => {} }))
}

function methodsOf(node: Node): Node {
  return {
    read: keys => node.read(keys),
    write: (write, holds) => node.write(write, holds),
    scan: (bucket, range) => node.scan(bucket, range),
    buckets: () => node.buckets(),
    close: () => node.close(),
  }
}

function named(nodes: readonly Node[]) {
  return nodes.map((node, i) => ({ name: 'abc'[i]!, node }))
}

test('a ring is not opened over nodes of two rings', async () => {
  const [ours, theirs] = [threeNodes(), threeNodes()]
  for (const nodes of [ours, theirs]) await (await openCells({ nodes: named(nodes), hintsEveryMs: 0 })).close()
  const mixed = named([ours[0]!, ours[1]!, theirs[2]!])
  await expect(openCells({ nodes: mixed, hintsEveryMs: 0 })).rejects.toMatchObject({
    code: 'RING_UNUSABLE',
    message: expect.stringContaining('a, b to one, c to another'),
  })
})

test('nodes that cannot be opened as a ring are closed', async () => {
  const stores = ['a', 'b'].map(name => ({ name, node: createMemoryStore() }))
  await expect(openCells({ nodes: stores, creates: false })).rejects.toMatchObject({ code: 'RING_UNUSABLE' })
  for (const { node } of stores) expect(() => node.position()).toThrow('closed')
})

test('a later layout on a node is not adopted if it is of another ring', async () => {
  const [ours, theirs] = [threeNodes(), threeNodes()]
  const other = await openCells({ nodes: named(theirs), hintsEveryMs: 0 })
  await other.write(KEY, undefined, 'ALL')
  await collectTombstones(other)
  expect(other.layout.epoch).toBeGreaterThan(1)
  let isSwapped = false
  const swapped: Node = methodsOf({
    ...ours[2]!,
    read: keys => (isSwapped ? theirs[2]! : ours[2]!).read(keys),
  })
  const cells = await openCells({ nodes: named([ours[0]!, ours[1]!, swapped]), hintsEveryMs: 0 })
  await cells.write(KEY, text('tea'), 'ALL')
  isSwapped = true
  await expect(cells.read(KEY, 'ALL')).rejects.toThrow('Node c belongs to another ring')
  expect(cells.layout.epoch).toBe(1)
  expect((await cells.read(KEY, 'QUORUM')).value).toEqual(text('tea'))
})

test('two coordinators that create a ring of the same nodes at once create one ring', async () => {
  const nodes = threeNodes()
  const both = await Promise.all([1, 2].map(() => openCells({ nodes: named(nodes), hintsEveryMs: 0 })))
  const [first, second] = both.map(({ layout }) => layout.secret)
  expect(first).toBe(second)
  const [a, b] = both as [(typeof both)[0], (typeof both)[0]]
  await a.write(KEY, text('tea'), 'ALL')
  expect((await b.read(KEY, 'ALL')).value).toEqual(text('tea'))
})

test('a node that refuses a write is not suspected', async () => {
  const nodes = threeNodes()
  let isFull = false
  const full: Node = methodsOf({
    ...nodes[0]!,
    write: (write, holds) => {
      if (isFull) throw new FreshetError('STORE_FULL', 'There is no space left.')
      return nodes[0]!.write(write, holds)
    },
  })
  const health = { timeoutMsMin: 5000, timeoutMsMax: 5000, failuresMax: 1, probeMs: 1e6, probeMsMax: 1e6 }
  const cells = await openCells({ nodes: named([full, nodes[1]!, nodes[2]!]), hintsEveryMs: 0, health })
  await cells.write(KEY, text('tea'), 'ALL')
  isFull = true
  await cells.write(KEY, text('coffee'), 'QUORUM')
  await cells.quiet()
  expect(cells.lines.map(line => line.health.isSuspected)).toEqual([false, false, false])
  expect((await cells.read('shop/products/1', 'ALL')).value).toBeUndefined()
})
