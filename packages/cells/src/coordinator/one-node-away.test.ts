/** What happens to writes while a node is away: hints, repairs, tombstones, and nodes that join and leave. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  type Cells,
  cellsStatus,
  collectTombstones,
  joinCells,
  leaveCells,
  type Node,
  openCells,
  repair,
} from '../index.js'
import { createStoreNode } from '../nodes/store-node.js'
import { compareStamps, EMPTY_RECORD } from '../records/index.js'
import { encodeRecord } from './record-text.js'

const KEY = 'shop/products/42'

/** A node that can be taken away. */
class Away {
  readonly store: Store = createMemoryStore()
  isAway = false
  readonly #node = createStoreNode(this.store)

  node(): Node {
    const ask = async <Answer>(answer: () => Promise<Answer>): Promise<Answer> => {
      if (this.isAway) throw new Error('It is away.')
      return answer()
    }
    const node = this.#node
    return {
      read: keys => ask(() => node.read(keys)),
      write: (write, holds) => ask(() => node.write(write, holds)),
      scan: (bucket, range) => ask(() => node.scan(bucket, range)),
      buckets: () => ask(() => node.buckets()),
      close: async () => {},
    }
  }
}

/** The record of a node that took a write at ONE. */
const later = {
  contentType: 'application/json',
  body: encodeRecord({ ...EMPTY_RECORD, stamp: { tenure: 99, count: 1, aside: 0, writer: 0 }, value: text('later') }),
}

let nodes: Map<string, Away>
let cells: Cells

function text(value: string) {
  return { contentType: 'text/plain', body: Buffer.from(value) }
}

/** No node is ever suspected: that would only make tests wait. */
const health = { timeoutMsMin: 1000, timeoutMsMax: 1000, failuresMax: 1e9, probeMs: 1, probeMsMax: 1 }

async function open(hintsMax = 1000): Promise<Cells> {
  const sources = [...nodes].filter(([name]) => name < 'd').map(([name, away]) => ({ name, node: away.node() }))
  const openNode = ({ name }: { readonly name: string }) => nodes.get(name)!.node()
  return openCells({ nodes: sources, openNode, hintsEveryMs: 0, hintsMax, health, tenures: { promiseMs: 30 } })
}

beforeEach(async () => {
  nodes = new Map(['a', 'b', 'c', 'd', 'e'].map(name => [name, new Away()]))
  cells = await open()
})

async function stampsOf(key: string) {
  const seen = await Promise.all(cells.view.linesOf(key).map(line => line.read(key, cells.view.epoch)))
  return seen.map(({ record }) => record.stamp)
}

async function areAlike(key: string): Promise<boolean> {
  const [first, ...rest] = await stampsOf(key)
  return rest.every(stamp => compareStamps(stamp, first!) === 0)
}

describe('a node that was away', () => {
  test('receives the write as a hint, which another coordinator delivers', async () => {
    nodes.get('c')!.isAway = true
    await cells.write(KEY, text('tea'))
    await cells.quiet()
    expect((await cellsStatus(cells)).nodes.map(({ state, hints }) => [state, hints])).toEqual([
      ...[
        ['up', 0],
        ['up', 0],
        ['down', 1],
      ],
    ])
    nodes.get('c')!.isAway = false
    const other = await open()
    expect(await other.deliverHints()).toEqual({ delivered: 1, left: 0 })
    expect(await areAlike(KEY)).toBe(true)
    expect(await other.deliverHints()).toEqual({ delivered: 0, left: 0 })
  })

  test('for which no more hints are kept is repaired', async () => {
    cells = await open(3)
    nodes.get('c')!.isAway = true
    for (let i = 0; i < 10; i++) await cells.write(`shop/products/${i}`, text('tea'))
    await cells.quiet()
    nodes.get('c')!.isAway = false
    expect((await cells.deliverHints()).delivered).toBe(3)
    expect(await repair(cells)).toEqual({ keys: 10, repaired: 7, isDone: true })
    for (let i = 0; i < 10; i++) expect(await areAlike(`shop/products/${i}`)).toBe(true)
  })

  test('is repaired by a read at ALL that finds it behind', async () => {
    nodes.get('c')!.isAway = true
    cells = await open(0)
    await cells.write(KEY, text('tea'))
    nodes.get('c')!.isAway = false
    await cells.read(KEY, 'ALL')
    await cells.quiet()
    expect(await areAlike(KEY)).toBe(true)
  })

  test('loses no write at ANY that was kept as a hint while all replicas of the key were away', async () => {
    await joinCells(cells, { name: 'd', address: '', rack: 'rack', dataCentre: 'here' })
    const replicas = cells.view.setsOf(KEY)[0]!
    for (const name of replicas) nodes.get(name)!.isAway = true
    await expect(cells.write(KEY, text('tea'), 'ONE')).rejects.toMatchObject({
      ...{ code: 'RING_UNAVAILABLE', details: { outcome: 'not-done' } },
    })
    expect(await cells.write(KEY, text('tea'), 'ANY')).toMatchObject({ replicas: 0 })
    for (const name of replicas) nodes.get(name)!.isAway = false
    await cells.deliverHints()
    expect((await cells.read(KEY, 'ALL')).value).toEqual(text('tea'))
  })
})

test('a repair that was stopped continues after the last key that it compared', async () => {
  cells = await open(0)
  nodes.get('c')!.isAway = true
  for (const id of ['1', '2', '3', '4']) await cells.write(`shop/products/${id}`, text('tea'))
  for (const id of ['5', '6']) await cells.write(`shop/orders/${id}`, text('tea'))
  nodes.get('c')!.isAway = false
  const stopping = new AbortController()
  const seen: string[] = []
  const onProgress = ({ key }: { readonly key: string }) => {
    seen.push(key)
    if (seen.length === 3) stopping.abort()
  }
  expect((await repair(cells, { onProgress, signal: stopping.signal })).isDone).toBe(false)
  expect(await repair(cells, { after: seen.at(-1)!, onProgress })).toEqual({ keys: 3, repaired: 3, isDone: true })
  expect(seen).toEqual([
    ...['5', '6'].map(id => `shop/orders/${id}`),
    ...['1', '2', '3', '4'].map(id => `shop/products/${id}`),
  ])
})

describe('tombstones', () => {
  test('are kept while a replica lacks them, and dropped when all have them', async () => {
    cells = await open(0)
    await cells.write(KEY, text('tea'), 'ALL')
    nodes.get('c')!.isAway = true
    await cells.write(KEY, undefined)
    await expect(collectTombstones(cells)).rejects.toThrow('away')
    nodes.get('c')!.isAway = false
    expect(await collectTombstones(cells)).toEqual({ found: 0, collected: 0 })
    await repair(cells)
    expect(await collectTombstones(cells)).toEqual({ found: 1, collected: 1 })
    expect(await Promise.all(['a', 'b', 'c'].map(name => nodes.get(name)!.store.get(KEY)))).toEqual([
      ...[undefined, undefined, undefined],
    ])
  })

  test('do not hide a later write once collected, also by a coordinator that knew the key before', async () => {
    const other = await open()
    const { stamp } = await cells.write(KEY, text('tea'), 'ALL')
    await cells.write(KEY, undefined, 'ALL')
    await other.read(KEY, 'QUORUM')
    expect(await collectTombstones(cells)).toEqual({ found: 1, collected: 1 })
    const later = await other.write(KEY, text('coffee'), 'ONE')
    expect(compareStamps(later.stamp, stamp)).toBeGreaterThan(0)
    await other.quiet()
    expect(await cells.read(KEY, 'CURRENT')).toMatchObject({ value: text('coffee'), isCurrent: true })
  })

  test('are kept while a hint waits for their key', async () => {
    await cells.write(KEY, text('tea'), 'ALL')
    nodes.get('c')!.isAway = true
    await cells.write(KEY, text('coffee'))
    await cells.quiet()
    nodes.get('c')!.isAway = false
    await cells.write(KEY, undefined, 'ALL')
    expect(await collectTombstones(cells)).toEqual({ found: 1, collected: 0 })
    await cells.deliverHints()
    expect(await collectTombstones(cells)).toEqual({ found: 1, collected: 1 })
  })
})

describe('a ring that changes', () => {
  const joining = { name: 'd', address: '', rack: 'rack', dataCentre: 'here' }
  const keys = Array.from({ length: 40 }, (_, i) => `shop/products/${i}`)

  test('keeps all its records, each on the nodes that it belongs to and on no other', async () => {
    for (const key of keys) await cells.write(key, text(key))
    const report = await joinCells(cells, joining)
    expect(report.moved).toBeGreaterThan(0)
    expect(report.dropped).toBe(report.moved)
    await leaveCells(cells, 'a')
    expect(cells.layout.nodes.map(({ name }) => name)).toEqual(['b', 'c', 'd'])
    for (const key of keys)
      expect(await cells.read(key, 'CURRENT')).toMatchObject({ value: text(key), isCurrent: true })
    expect((await cellsStatus(cells, { lag: true })).nodes.map(({ behind, keys: kept }) => [behind, kept])).toEqual([
      ...[
        [0, 40],
        [0, 40],
        [0, 40],
      ],
    ])
  })

  test('refuses to let a node leave that does not answer: it alone may have writes at ONE or ANY', async () => {
    await joinCells(cells, joining)
    nodes.get('b')!.isAway = true
    await expect(leaveCells(cells, 'b')).rejects.toMatchObject({
      code: 'RING_UNAVAILABLE',
      details: { outcome: 'not-done' },
    })
    expect([cells.layout.before, cells.layout.nodes.length]).toEqual([undefined, 4])
  })

  test('stops when a node falls silent while it leaves, and continues when the node is declared lost', async () => {
    for (const key of keys) await cells.write(key, text(key))
    await joinCells(cells, joining)
    const onProgress = () => {
      throw new Error('Cut short.')
    }
    await expect(leaveCells(cells, 'b', { onProgress })).rejects.toThrow('Cut short.')
    nodes.get('b')!.isAway = true
    await expect(leaveCells(cells, 'b')).rejects.toThrow('freshet ring leave b --lost')
    await leaveCells(cells, 'b', { isLost: true })
    expect(cells.layout.nodes.map(({ name }) => name)).toEqual(['a', 'c', 'd'])
    for (const key of keys) expect((await cells.read(key, 'CURRENT')).value).toEqual(text(key))
  })

  test('delivers the hints for a lost node to the nodes that have its keys afterwards', async () => {
    const suspicious = { ...health, failuresMax: 1, probeMs: 60_000, probeMsMax: 60_000 }
    await joinCells(cells, joining)
    const sources = ['a', 'b', 'c', 'd'].map(name => ({ name, node: nodes.get(name)!.node() }))
    const openNode = ({ name }: { readonly name: string }) => nodes.get(name)!.node()
    const other = await openCells({ nodes: sources, openNode, hintsEveryMs: 0, health: suspicious })
    nodes.get('b')!.isAway = true
    const key = keys.find(each => other.view.setsOf(each)[0]!.includes('b'))!
    await other.write(key, text('new'))
    expect(await other.deliverHints()).toMatchObject({ left: 1 })
    await leaveCells(other, 'b', { isLost: true })
    expect(await other.deliverHints()).toMatchObject({ left: 0 })
  })

  test('moves a write that only the leaving node has', async () => {
    await joinCells(cells, joining)
    const key = keys.find(each => cells.view.setsOf(each)[0]!.includes('b'))!
    const others = ['a', 'c', 'd'].map(name => nodes.get(name)!)
    for (const node of others) node.isAway = true
    await cells.write(key, text('alone'), 'ONE')
    for (const node of others) node.isAway = false
    await leaveCells(cells, 'b')
    expect((await cells.read(key)).value).toEqual(text('alone'))
  })

  test('loses nothing if the leaving node is already lost', async () => {
    for (const key of keys) await cells.write(key, text(key))
    await joinCells(cells, joining)
    nodes.get('b')!.isAway = true
    await leaveCells(cells, 'b', { isLost: true })
    for (const key of keys)
      expect(await cells.read(key, 'CURRENT')).toMatchObject({ value: text(key), isCurrent: true })
  })

  test('that was interrupted continues with the same command, and with no other', async () => {
    for (const key of keys) await cells.write(key, text(key))
    const cut = joinCells(cells, joining, {
      onProgress: ({ keys: done }) => {
        if (done === 5) throw new Error('Cut short.')
      },
    })
    await expect(cut).rejects.toThrow('Cut short.')
    // Until then the ring works.
    await cells.write(keys[0]!, text('new'))
    await expect(leaveCells(cells, 'a')).rejects.toThrow('another change of the ring is under way')
    const other = await open()
    await joinCells(other, joining)
    expect(await cells.read(keys[0]!, 'CURRENT')).toMatchObject({ value: text('new'), isCurrent: true })
    for (const key of keys.slice(1)) expect((await other.read(key, 'CURRENT')).value).toEqual(text(key))
  })

  test('takes no node that was in a ring before', async () => {
    await joinCells(cells, joining)
    await leaveCells(cells, 'd')
    await expect(joinCells(cells, joining)).rejects.toMatchObject({ code: 'RING_UNUSABLE' })
  })
})

describe('a node that was away when it lost a key to a new one', () => {
  const keys = Array.from({ length: 40 }, (_, i) => `shop/products/${i}`)
  const joining = (name: string) => ({ name, address: '', rack: 'rack', dataCentre: 'here' })
  let left: readonly string[]

  beforeEach(async () => {
    await joinCells(cells, joining('d'))
    for (const key of keys) await cells.write(key, text('old'), 'ALL')
    nodes.get('d')!.isAway = true
    await joinCells(cells, joining('e'))
    nodes.get('d')!.isAway = false
    const lost = keys.filter(key => !cells.view.setsOf(key)[0]!.includes('d'))
    const found = await Promise.all(lost.map(key => nodes.get('d')!.store.get(key)))
    left = lost.filter((_, i) => found[i] !== undefined)
    expect(left.length).toBeGreaterThan(0)
  })

  test('does not bring the key back when it was deleted and collected meanwhile', async () => {
    for (const key of keys) await cells.write(key, undefined, 'ALL')
    expect(await collectTombstones(cells)).toEqual({ found: keys.length, collected: keys.length })
    expect((await cells.scan('shop/products', {}, 'ALL')).entries).toEqual([])
    await leaveCells(cells, 'e')
    for (const key of keys) expect((await cells.read(key, 'ALL')).value).toBeUndefined()
  })

  test('is ignored by scans for that key', async () => {
    for (const key of left) await nodes.get('d')!.store.commit({ writes: [{ key, ...later }] })
    const { entries } = await cells.scan('shop/products', {}, 'ALL')
    expect(entries.map(({ body }) => Buffer.from(body).toString())).toEqual(keys.map(() => 'old'))
  })

  test('gives a write that only it has to the replicas in a repair, and drops its own copy', async () => {
    for (const key of left) await nodes.get('d')!.store.commit({ writes: [{ key, ...later }] })
    await repair(cells)
    for (const key of left) {
      expect((await cells.read(key, 'ALL')).value).toEqual(text('later'))
      expect(await nodes.get('d')!.store.get(key)).toBeUndefined()
    }
  })

  test('keeps a tombstone from being dropped while it alone has a later write', async () => {
    for (const key of left) await cells.write(key, undefined, 'ALL')
    for (const key of left) await nodes.get('d')!.store.commit({ writes: [{ key, ...later }] })
    expect(await collectTombstones(cells)).toEqual({ found: left.length, collected: 0 })
  })
})

test('no concurrent update of two coordinators is lost', async () => {
  const both = [cells, await open()]
  const increment = async (by: Cells) => {
    for (let done = 0; done < 10; ) {
      try {
        await by.update(KEY, value => text(`${Number(value ? Buffer.from(value.body).toString() : 0) + 1}`))
        done++
      } catch (error) {
        expect(error).toMatchObject({ code: 'RING_UNAVAILABLE', details: { outcome: 'not-done' } })
      }
    }
  }
  await Promise.all(both.map(increment))
  expect((await cells.read(KEY, 'CURRENT')).value).toEqual(text('20'))
})
