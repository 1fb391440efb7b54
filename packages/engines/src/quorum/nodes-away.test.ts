/** Nodes and servers that were away until the log forgot what they missed. */
import type { Commit, Store } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { put, textOf } from '../cassandra/under-test/crash-writers.js'
import { SlotsGone } from '../log/log-storage.js'
import { createMemoryStore } from '../memory/index.js'
import { eventually } from '../under-test/eventually.js'
import { APPLIED, VOICE, type Voice } from './node-keys.js'
import { openQuorumStore, type QuorumNodeAddress } from './open-quorum-store.js'
import { parse, QuorumNode } from './quorum-node.js'
import { ReplicatedLog, SLOTS_PER_PART } from './replicated-log.js'
import { sharedNode } from './under-test/shared-nodes.js'

interface LeavingNode extends QuorumNodeAddress {
  isAway: boolean
  /** It goes away after this many answers. */
  answersLeft: number
  /** It takes no more writes. */
  isFull: boolean
  /** What it holds. With another store in its place, it has lost everything. */
  store: Store
}

/** A store that does not answer while it is set to be away. */
function leavingNode(place: string): LeavingNode {
  const node = {
    ...{ place, store: createMemoryStore(), isAway: false, isFull: false, answersLeft: Number.POSITIVE_INFINITY },
    async open(): Promise<Store> {
      return new Proxy(node.store, {
        get(_, name) {
          const target = node.store
          if (name === 'close') return async () => {}
          const found: unknown = Reflect.get(target, name, target)
          if (typeof found !== 'function') return found
          return (...args: unknown[]) => {
            const isAway = node.isAway || node.answersLeft-- <= 0
            if (isAway || (node.isFull && name === 'commit')) return Promise.reject(new Error('It is away.'))
            return found.apply(target, args)
          }
        },
      })
    },
  }
  return node
}

async function fill(store: Store, from: number, slots: number): Promise<void> {
  for (let i = from; i < from + slots; i++) {
    const writes = [put(`a/b/${i % 50}`, `${i}`), put('a/c/last', `${i}`)]
    // A node that missed a deletion must not bring the object back.
    await store.commit({ writes: i % 3 === 0 ? [{ key: `a/b/${(i + 1) % 50}`, delete: true }, ...writes] : writes })
  }
}

async function contents(store: Store): Promise<unknown> {
  const { entries } = await store.scan('a/b', { limit: 1000 })
  return entries.map(({ id, version, body }) => [id, version, Buffer.from(body).toString()])
}

test('a node that has missed more than the log keeps gets all rows again, and none that were deleted meanwhile', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  const warnings: string[] = []
  const open = () => openQuorumStore({ nodes, onWarning: text => warnings.push(text) })
  const first = await open()
  await fill(first, 0, 40)
  nodes[2]!.isAway = true
  await fill(first, 40, 3 * SLOTS_PER_PART)
  await first.trim(await first.position())
  // This server would still have in memory what the node has missed.
  await first.close()
  const store = await open()
  nodes[2]!.isAway = false
  await eventually('it is rebuilt', () => warnings.some(text => /node 3 has been rebuilt/.test(text)))
  await fill(store, 40 + 3 * SLOTS_PER_PART, 10)
  const expected = await contents(store)
  // Only the rebuilt node and one other are left, and each answers in its turn.
  nodes[0]!.isAway = true
  const next = await open()
  for (let i = 0; i < 10; i++) expect(await contents(next)).toEqual(expected)
  await fill(next, 1000, 5)
  expect(await textOf(store, 'a/c/last')).toBe('1004')
  await Promise.all([store.close(), next.close()])
})

test('a ring opens although most nodes pause while it opens', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  const first = await openQuorumStore({ nodes })
  await first.commit({ writes: [put('a/b/c', 'kept')] })
  await first.close()
  // They answer which quorum they belong to, and fall silent then.
  for (const node of nodes.slice(1)) node.answersLeft = 1
  const opening = openQuorumStore({ nodes })
  await eventually('two have become silent', () => nodes.slice(1).every(({ answersLeft }) => answersLeft < 0))
  for (const node of nodes) node.answersLeft = Number.POSITIVE_INFINITY
  const store = await opening
  expect(await textOf(store, 'a/b/c')).toBe('kept')
  await store.close()
})

test('a node that was emptied has no vote: with another node away nothing is decided, and nothing is lost', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  const warnings: string[] = []
  const options = { nodes, waitMsMax: 300, answerMsMax: 100, onWarning: (text: string) => warnings.push(text) }
  const [store, other] = [await openQuorumStore(options), await openQuorumStore(options)]
  // Node 3 misses the commit, and node 1, which has it, is emptied: two nodes that know nothing must not be a majority.
  nodes[2]!.isAway = true
  await store.commit({ writes: [put('a/b/c', 'kept')] })
  nodes[0]!.store = createMemoryStore()
  nodes[1]!.isAway = true
  nodes[2]!.isAway = false
  const unavailable = { code: 'STORE_UNAVAILABLE' }
  await expect(other.get('a/b/c')).rejects.toMatchObject(unavailable)
  await expect(store.commit({ writes: [put('a/b/d', 'maybe')] })).rejects.toMatchObject(unavailable)
  await expect(store.get('a/b/c')).rejects.toMatchObject(unavailable)
  await expect(openQuorumStore(options)).rejects.toMatchObject(unavailable)
  expect(await nodes[0]!.store.get('a/b/c')).toBeUndefined()
  nodes[1]!.isAway = false
  await eventually('it is rebuilt', () => warnings.some(text => /node 1 has been rebuilt/.test(text)))
  nodes[1]!.isAway = true
  await eventually('the two others are enough', async () => (await textOf(store, 'a/b/c').catch(() => '')) === 'kept')
  expect((await store.commit({ writes: [put('a/b/c', 'next')] })).committed).toBe(true)
  expect(await textOf(other, 'a/b/c')).toBe('next')
  await Promise.all([store.close(), other.close()])
})

test('the store reports the state of each node, how far it is, and why it does not answer', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  const store = await openQuorumStore({ nodes, answerMsMax: 100, onWarning: () => {} })
  const stateOf = (at: number) => store.nodes!()[at]
  await fill(store, 0, 3)
  await eventually('all are well', () => store.nodes!().every(({ state, behind }) => state === 'well' && behind === 0))
  expect(stateOf(0)).toEqual({ place: 'node 1', state: 'well', behind: 0, durability: 'none' })
  nodes[0]!.isAway = true
  await eventually('it is missed', () => stateOf(0)!.state === 'silent')
  await fill(store, 3, 5)
  await eventually('it is behind', () => stateOf(0)!.behind === 5)
  for (let i = 0; i < 20; i++) await store.get('a/b/1')
  expect(stateOf(0)!.trouble).toBe('It is away.')
  nodes[0]!.isAway = false
  await eventually('it is back', () => stateOf(0)!.state === 'well' && stateOf(0)!.behind === 0)
  // An empty node would be rebuilt at once.
  const other = createMemoryStore()
  await other.commit({ writes: [put('other/things/1', 'mine')] })
  nodes[2]!.store = other
  await eventually('it has lost its data', () => stateOf(2)!.state === 'emptied')
  expect(stateOf(2)!.behind).toBeUndefined()
  await store.close()
})

test('servers that found a ring at once, each with its own order of nodes, found the same ring', async () => {
  for (let round = 0; round < 20; round++) {
    const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
    const orders = [nodes, [...nodes].reverse(), [nodes[1]!, nodes[2]!, nodes[0]!]]
    const stores = await Promise.all(orders.map(order => openQuorumStore({ nodes: order, onWarning: () => {} })))
    expect(new Set(stores.map(({ log }) => log)).size).toBe(1)
    await stores[0]!.commit({ writes: [put('a/b/c', `${round}`)] })
    for (const store of stores) expect(await textOf(store, 'a/b/c')).toBe(`${round}`)
    await Promise.all(stores.map(store => store.close()))
  }
})

test('a node that answered just before the ring was founded does not count as emptied', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  let asked = 0
  const founded = new Promise<void>(resolve => {
    // The last node is asked only after another server has founded the quorum; the others were empty when they were asked.
    void (async () => {
      await eventually('two were asked', () => asked === 2)
      await (await openQuorumStore({ nodes, onWarning: () => {} })).close()
      resolve()
    })()
  })
  const late = nodes.map(
    ({ place, open }, i): QuorumNodeAddress => ({
      place,
      async open() {
        const store = await open()
        if (i === 2) await founded
        const getMany: Store['getMany'] = async keys => {
          const answer = await store.getMany(keys)
          asked++
          return answer
        }
        return new Proxy(store, { get: (target, name) => (name === 'getMany' ? getMany : Reflect.get(target, name)) })
      },
    }),
  )
  const store = await openQuorumStore({ nodes: late, onWarning: () => {} })
  expect((await store.commit({ writes: [put('a/b/c', '1')] })).committed).toBe(true)
  await store.close()
})

test('a node whose rows are behind answers no reads', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  const first = await openQuorumStore({ nodes, onWarning: () => {} })
  await first.commit({ writes: [put('a/b/c', 'old'), put('a/b/gone', 'old')] })
  await eventually('all nodes have it', async () => (await nodes[2]!.store.get('a/b/c')) !== undefined)
  nodes[2]!.isFull = true
  await first.commit({ writes: [put('a/b/c', 'new'), put('a/b/d', 'new'), { key: 'a/b/gone', delete: true }] })
  // Otherwise the write would be among the records beyond the rows, which every server has in memory.
  await fill(first, 0, 10)
  await first.close()
  const store = await openQuorumStore({ nodes, onWarning: () => {} })
  for (let i = 0; i < 30; i++) {
    const { value } = await store.getMany(['a/b/c', 'a/b/gone', 'a/b/d'])
    expect(value.map(each => each && Buffer.from(each.body).toString())).toEqual(['new', undefined, 'new'])
    expect((await store.scan('a/b', { from: 'c' })).entries.map(({ id }) => id)).toEqual(['c', 'd'])
  }
  await store.close()
})

test('rows that a server writes late do not replace newer ones', async () => {
  const nodes = [1, 2, 3].map(i => leavingNode(`node ${i}`))
  const held: (() => void)[] = []
  let isHolding = false
  const slowly = nodes.map(
    ({ place, open }): QuorumNodeAddress => ({
      place,
      async open() {
        const store = await open()
        const commit = async (asked: Commit) => {
          if (isHolding && asked.writes.some(({ key }) => key === APPLIED)) await new Promise<void>(go => held.push(go))
          return store.commit(asked)
        }
        return new Proxy(store, { get: (target, name) => (name === 'commit' ? commit : Reflect.get(target, name)) })
      },
    }),
  )
  const slow = await openQuorumStore({ nodes: slowly, answerMsMax: 10_000, onWarning: () => {} })
  const store = await openQuorumStore({ nodes, onWarning: () => {} })
  await slow.commit({ writes: [put('a/b/c', '1')] })
  isHolding = true
  await slow.commit({ writes: [put('a/b/c', '2')] })
  await eventually('it would write its rows', () => held.length === 3)
  await store.commit({ writes: [put('a/b/c', '3')] })
  await fill(store, 0, 10)
  const rows = () => Promise.all(nodes.map(async node => (await node.store.get('a/b/c'))?.body.toString()))
  await eventually('newer ones are there', async () => (await rows()).every(row => row?.endsWith('3')))
  isHolding = false
  for (const go of held) go()
  await slow.close()
  expect((await rows()).every(row => row?.endsWith('3'))).toBe(true)
  await store.close()
})

test('a server that slept while the log was trimmed goes on from the log’s end, and serves nothing old', async () => {
  const nodes = [1, 2, 3].map(i => sharedNode(`node ${i}`, createMemoryStore()))
  const [store, sleeper] = [
    await openQuorumStore({ nodes, onWarning: () => {} }),
    await openQuorumStore({ nodes, onWarning: () => {} }),
  ]
  await fill(store, 0, 5)
  expect(await textOf(sleeper, 'a/c/last')).toBe('4')
  await fill(store, 5, 3 * SLOTS_PER_PART)
  await store.trim(await store.position())
  const last = `${4 + 3 * SLOTS_PER_PART}`
  expect(await textOf(sleeper, 'a/c/last')).toBe(last)
  expect(await sleeper.position()).toBe(await store.position())
  expect(await contents(sleeper)).toEqual(await contents(store))
  const result = await sleeper.commit({ writes: [put('a/c/last', 'awake')] })
  expect(result.committed).toBe(true)
  expect(await textOf(store, 'a/c/last')).toBe('awake')
  await Promise.all([store.close(), sleeper.close()])
})

test('a server that slept while the log was trimmed, and appends before it looks, does not get a dropped slot', async () => {
  const addresses = [1, 2, 3].map(i => sharedNode(`node ${i}`, createMemoryStore()))
  const store = await openQuorumStore({ nodes: addresses, onWarning: () => {} })
  await fill(store, 0, 5)
  const nodes = addresses.map(address => new QuorumNode({ ...address, answerMsMax: 10_000 }))
  for (const node of nodes) node.ring = (parse((await node.read([VOICE]))[0]!) as Voice).ring
  const log = new ReplicatedLog(nodes)
  const last = (await log.last())!
  await fill(store, 5, 3 * SLOTS_PER_PART)
  await store.trim(await store.position())
  const late = { ...last, slot: last.slot + 1, id: 'late' }
  expect(await log.append(late)).toBeGreaterThan(late.slot)
  await expect(log.read(last.slot)).rejects.toThrow(SlotsGone)
  await Promise.all([store, ...nodes].map(each => each.close()))
})
