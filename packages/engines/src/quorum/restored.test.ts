/** Nodes that were restored by their own tools while no server ran: the quorum begins another log. */
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openEmbeddedStore } from '../lmdb/index.js'
import { type TemporaryFolder, temporaryFolder } from '../lmdb/under-test/temporary-folder.js'
import { createMemoryStore } from '../memory/index.js'
import { put } from '../under-test/commits.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'
import { openQuorumStore } from './open-quorum-store.js'
import { sharedNode } from './under-test/shared-nodes.js'

let folder: TemporaryFolder
const stores: Store[] = []
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  await folder.remove()
})

const data = (node: number) => join(folder.path, `node-${node}`)
const copy = (node: number) => join(folder.path, `copy-${node}`)
const open = async (recalled?: LogPlace) => {
  const nodes = [1, 2, 3].map(node => ({ place: `node ${node}`, open: () => openEmbeddedStore({ path: data(node) }) }))
  const store = await openQuorumStore({ nodes, recalled, onWarning: () => {} })
  stores.push(store)
  return store
}
const backUp = async () => {
  for (const node of [1, 2, 3])
    cpSync(data(node), copy(node), { recursive: true, filter: path => !path.endsWith('.lock') })
}
const restore = (nodes: readonly number[]) => {
  for (const node of nodes) {
    rmSync(data(node), { recursive: true })
    cpSync(copy(node), data(node), { recursive: true })
  }
}

test('if the folders of all nodes are restored, the store begins another log', async () => {
  const { lost, store } = await restoreUnnoticed({ open, backUp, restore: () => restore([1, 2, 3]) })
  await expectAnotherLog(store, lost)
  const { log } = store
  await store.close()
  expect((await open()).log).toBe(log)
})

test('if the folder of one node is restored, nothing is lost, and the log goes on', async () => {
  const before = await open()
  await put(before, 'a/b/1')
  await backUp()
  const kept = await put(before, 'a/b/1')
  const { log } = before
  await before.close()
  restore([2])
  const store = await open()
  expect(store.log).toBe(log)
  expect((await store.get('a/b/1'))?.version).toBe(kept)
})

test('if restored nodes do not notice it, a server that remembers its position begins another log', async () => {
  const nodes = [1, 2, 3].map(() => createMemoryStore())
  const openOver = (recalled?: LogPlace) =>
    openQuorumStore({ nodes: nodes.map((store, i) => sharedNode(`${i}`, store)), recalled, onWarning: () => {} })
  const store = await openOver()
  const position = await put(store, 'a/b/1')
  const known = { log: store.log, position }
  await store.close()
  const same = await openOver(known)
  stores.push(same)
  expect(same.log).toBe(known.log)
  const lost = { log: known.log, position: (await same.position()) + 1_000_000 }
  const another = await openOver(lost)
  stores.push(another)
  await expectAnotherLog(another, lost)
})
