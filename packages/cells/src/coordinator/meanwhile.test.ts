/** Concurrent operations of several coordinators, interleaved step by step. */
import type { ReadVersion } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { eventually } from '@freshet/engines/under-test/eventually'
import { expect, test } from 'vitest'
import {
  type Cells,
  type CellsOptions,
  collectTombstones,
  joinCells,
  leaveCells,
  type Node,
  openCells,
} from '../index.js'
import { type CellsLayout, CHANGE_KEY, encodeLayout } from '../layout/cells-layout.js'
import { createStoreNode } from '../nodes/store-node.js'
import { LayoutChanged, NodeLine } from './node-line.js'
import { PROCESS_TIMING } from './timing.js'

const KEY = 'shop/products/42'
const NAMES = ['a', 'b', 'c']

function text(value: string) {
  return { contentType: 'text/plain', body: Buffer.from(value) }
}

/** Called before this coordinator asks a node; other coordinators do not call it. */
type Before = (name: string, call: 'read' | 'write' | 'scan' | 'buckets', key: string, body: string) => unknown

const health = { timeoutMsMin: 20_000, timeoutMsMax: 20_000, failuresMax: 1e9, probeMs: 1, probeMsMax: 1 }

type Open = (before?: Before, options?: Partial<CellsOptions>, names?: readonly string[]) => Promise<Cells>

function sharedNodes(): Open {
  const shared = new Map([...NAMES, 'd'].map(name => [name, createStoreNode(createMemoryStore())]))
  return (before = () => {}, options = {}, names = NAMES) => {
    const openNode = ({ name }: { readonly name: string }): Node => {
      const node = shared.get(name)!
      const after = async <Answer>(waits: unknown, ask: () => Promise<Answer>) => {
        await waits
        return ask()
      }
      return {
        read: keys => after(before(name, 'read', keys[0]!, ''), () => node.read(keys)),
        write: (write, holds) => {
          const body = Buffer.from(write.body ?? []).toString()
          return after(before(name, 'write', write.key, body), () => node.write(write, holds))
        },
        scan: (bucket, range) => after(before(name, 'scan', bucket, ''), () => node.scan(bucket, range)),
        buckets: () => after(before(name, 'buckets', '', ''), () => node.buckets()),
        close: async () => {},
      }
    }
    const nodes = names.map(name => ({ name, node: openNode({ name }) }))
    return openCells({ nodes, openNode, hintsEveryMs: 0, health, tenures: { promiseMs: 40 }, ...options })
  }
}

function signal(): { readonly done: Promise<void>; readonly give: () => void } {
  let give = () => {}
  const done = new Promise<void>(resolve => {
    give = resolve
  })
  return { done, give }
}

test('an update and a current read of one coordinator do not release the tenure that the other was granted', async () => {
  const open = sharedNodes()
  const holder = await open()
  await holder.write(KEY, text('tea'), 'ALL')
  let [isThere, hasBoth] = [true, false]
  const released: string[] = []
  const claims = new Map<string, (() => void)[]>()
  /** Claims continue when each node has received two of them, or, after a while, only one. */
  const before: Before = async (name, call, key, body) => {
    if (call !== 'write' || key !== KEY) return
    if (!body.includes('holder')) released.push(body)
    if (hasBoth || !body.includes('"holder":"me"')) return
    const { done, give } = signal()
    claims.set(name, [...(claims.get(name) ?? []), give])
    const goOn = () => {
      hasBoth = true
      for (const waiting of [...claims.values()].flat()) waiting()
    }
    if ([...claims.values()].every(({ length }) => length === 2)) goOn()
    setTimeout(goOn, 500)
    await done
  }
  const unasked = async () => undefined
  const others = { canAsk: () => isThere, coordinators: () => [], last: unasked, read: unasked, write: unasked }
  const me = await open(before, { self: 'me', others })
  const updated = me.update(KEY, () => text('coffee'))
  await eventually('it has begun to claim', () => claims.size > 0)
  isThere = false
  const read = me.read(KEY, 'CURRENT')
  expect((await updated).value).toEqual(text('coffee'))
  expect((await read).isCurrent).toBe(true)
  expect(released).toEqual([])
})

test('a hint that another coordinator has delivered meanwhile does not bring back a collected key', async () => {
  const open = sharedNodes()
  let isAway = false
  const cells = await open(name => {
    if (isAway && name === 'c') throw new Error('It is away.')
  })
  await cells.write(KEY, text('tea'), 'ALL')
  isAway = true
  await cells.write(KEY, text('coffee'))
  await cells.quiet()
  isAway = false
  const [hasRead, goOn] = [signal(), signal()]
  const slow = await open(async (name, call, key) => {
    if (name !== 'c' || call !== 'read' || key !== KEY) return
    hasRead.give()
    await goOn.done
  })
  await cells.write(KEY, undefined, 'ALL')
  // `slow` knows the layout of the collection, and has read the hint, when another coordinator delivers it.
  const hints = cells.hints
  const waiting = hints.keysWaiting.bind(hints)
  let delivering: Promise<unknown> = Promise.resolve()
  hints.keysWaiting = async view => {
    await slow.read('shop/products/1', 'QUORUM')
    delivering = slow.deliverHints()
    await hasRead.done
    await cells.deliverHints()
    return waiting(view)
  }
  expect(await collectTombstones(cells)).toEqual({ found: 1, collected: 1 })
  goOn.give()
  await delivering
  expect((await cells.read(KEY, 'ALL')).value).toBeUndefined()
})

test('a read at ONE finds what it found before while a node joins', async () => {
  const open = sharedNodes()
  const cells = await open()
  const keys = Array.from({ length: 40 }, (_, i) => `shop/products/${i}`)
  const other = await open()
  for (const key of keys) await other.write(key, text(key), 'ALL')
  const cut = joinCells(
    cells,
    { name: 'd', address: '', rack: 'rack', dataCentre: 'here' },
    {
      onProgress: () => {
        throw new Error('Cut short.')
      },
    },
  )
  await expect(cut).rejects.toThrow('Cut short.')
  for (const key of keys) expect((await other.read(key, 'ONE')).value).toEqual(text(key))
})

/** Begins the leave of node c, and stops before any of its records is moved. */
async function beginToLeave(cells: Cells): Promise<void> {
  const onProgress = () => {
    throw new Error('Cut short.')
  }
  await expect(leaveCells(cells, 'c', { onProgress })).rejects.toThrow('Cut short.')
}

async function writeMany(cells: Cells): Promise<() => Promise<void>> {
  const keys = Array.from({ length: 40 }, (_, i) => `shop/products/${i}`)
  for (const key of keys) await cells.write(key, text(key), 'ALL')
  return async () => {
    for (const key of keys) expect((await cells.read(key)).value).toEqual(text(key))
  }
}

const D = { name: 'd', address: '', rack: 'rack', dataCentre: 'here' }

test('a join at the same time does not leave behind the records of a node that is about to leave', async () => {
  const open = sharedNodes()
  const other = await open(() => {}, { factor: 1 })
  const expectAll = await writeMany(other)
  let leaving: Promise<void> | undefined
  const cells = await open((name, call) => {
    // By now `cells` has seen that no other change is under way.
    if (name === 'd' && call === 'buckets') leaving ??= beginToLeave(other)
    return leaving
  })
  await expect(joinCells(cells, D)).rejects.toMatchObject({ code: 'RING_UNAVAILABLE' })
  await expectAll()
  await leaveCells(cells, 'c')
  await joinCells(cells, D)
  await expectAll()
})

test('a process that moved the records of one change does not finish the next, whose records were not moved', async () => {
  const open = sharedNodes()
  const other = await open(() => {}, { factor: 1 })
  const expectAll = await writeMany(other)
  let hasMoved = false
  let leaving: Promise<void> | undefined
  const cells = await open((_, call, key) => {
    if (hasMoved && call === 'read' && key === CHANGE_KEY) {
      leaving ??= joinCells(other, D).then(() => beginToLeave(other))
    }
    return leaving
  })
  const onProgress = () => {
    hasMoved = true
  }
  await expect(joinCells(cells, D, { onProgress })).rejects.toMatchObject({ code: 'RING_UNAVAILABLE' })
  await expectAll()
  await leaveCells(cells, 'c')
  await expectAll()
})

test('a layout that was not decided is not continued by a process that finds it on the node that was to join', async () => {
  const open = sharedNodes()
  const cells = await open((_, call, key, body) => {
    if (call === 'write' && key === CHANGE_KEY && body.includes('epoch')) throw new Error('It is cut off.')
  })
  await expect(joinCells(cells, D)).rejects.toMatchObject({ code: 'RING_UNAVAILABLE' })
  const late = await open(() => {}, {}, ['d', ...NAMES])
  const { value } = await late.update(CHANGE_KEY, () => undefined)
  expect(value).toBeUndefined()
  expect(late.layout).toEqual(cells.layout)
  const { epoch } = await joinCells(late, D)
  expect(epoch).toBe(cells.layout.epoch + 2)
})

test('a change that began under one layout is not made under the next', async () => {
  const layout: CellsLayout = {
    ...{ epoch: 1, secret: '', nodes: [], factor: 1, partitioner: 'hash', floor: 1 },
  }
  const answers: ((layout: CellsLayout, version: number) => void)[] = []
  const written: (readonly ReadVersion[])[] = []
  const node: Node = {
    read: () =>
      new Promise(resolve => {
        answers.push((found, version) => resolve([{ version, body: encodeLayout(found) }]))
      }),
    write: async (_, holds) => {
      written.push(holds)
      return 9
    },
    scan: async () => ({ entries: [] }),
    buckets: async () => [],
    close: async () => {},
  }
  const keeper = {
    layout,
    adopt(found: CellsLayout) {
      if (found.epoch > keeper.layout.epoch) keeper.layout = found
    },
  }
  const line = new NodeLine('a', node, { timing: PROCESS_TIMING, keeper, health })
  const change = line.replace({ key: KEY, body: undefined }, 3, 1).catch((error: unknown) => error)
  const check = line.check(1).catch((error: unknown) => error)
  answers[0]!(layout, 5)
  answers[1]!({ ...layout, epoch: 2 }, 6)
  await check
  answers[2]?.({ ...layout, epoch: 2 }, 6)
  expect(await change).toBeInstanceOf(LayoutChanged)
  expect(written).toEqual([])
})

test('a current read that waits for an old claim renews it first', async () => {
  const open = sharedNodes()
  const [asked, goOn] = [signal(), signal()]
  let leaps = 0
  const timing = { ...PROCESS_TIMING, pessimisticMs: () => PROCESS_TIMING.pessimisticMs() + leaps }
  const slept = await open(
    async (_, call, key) => {
      if (call !== 'write' || key !== KEY || leaps > 0) return
      asked.give()
      await goOn.done
    },
    { timing },
  )
  const first = slept.read(KEY, 'CURRENT')
  await asked.done
  // The machine sleeps while it claims the key; the nodes grant the claim, and their answers arrive when it wakes.
  leaps = 60_000
  const later = slept.read(KEY, 'CURRENT')
  goOn.give()
  await Promise.all([first, later])
  expect(slept.tenures.counts).toMatchObject({ claims: 1, renewals: 1 })
})
