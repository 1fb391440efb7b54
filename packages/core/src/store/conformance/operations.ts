/** Counters, and commits that take effect once however often they are sent. */
import type { OperationId, OwnOperationId } from '@freshet/protocol'
import type { Addition } from '../operations.js'
import type { Commit, CommitResult, Store } from '../store.js'
import { type ConformanceOptions, put, testWith } from './kit.js'
import { createRandom, type Random } from './random.js'

const STEPS = 600
const CLIENTS = ['client-number-one', 'client-number-two'] as const
const COUNTERS = ['a/n/x', 'a/n/y', 'a/n/z'] as const

export function testCounters(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(options, 'counters begin at 0, and return their new values', async ({ store }) => {
    const result = await store.commit({ writes: [], adds: [add('a/n/x', 5), { ...add('a/n/y', -250), decimals: 2 }] })
    expect(result).toMatchObject({ committed: true, units: [5, -250] })
    expect(await textOf(store, 'a/n/x')).toBe('5')
    expect(await textOf(store, 'a/n/y')).toBe('-2.50')
    const { position } = result as { position: number }
    expect((await store.get('a/n/x'))?.version).toBe(position)
    expect((await store.changes(position - 1)).map(({ keys }) => [...keys].sort())).toEqual([['a/n/x', 'a/n/y']])
  })

  testWith(options, 'a counter at its bound refuses the whole commit', async ({ store }) => {
    await store.commit({ writes: [], adds: [add('a/n/x', 5)] })
    const below = { ...add('a/n/x', -6), min: 0 }
    expect(await store.commit({ writes: [put('a/b/c', 1)], adds: [add('a/n/y', 1), below] })).toEqual({
      committed: false,
      conflicts: [],
      refusedAdds: [{ key: 'a/n/x', units: 5, reason: 'below-min' }],
    })
    expect(await store.get('a/b/c')).toBe(undefined)
    expect(await store.get('a/n/y')).toBe(undefined)
    await store.commit({ writes: [put('a/b/c', 1)] })
    expect(await store.commit({ writes: [], adds: [add('a/b/c', 1)] })).toMatchObject({
      refusedAdds: [{ reason: 'no-counter' }],
    })
  })

  testWith(options, 'additions at the same time all count', async ({ store, peer = store }) => {
    const all = Array.from({ length: 200 }, (_, i) =>
      (i % 2 ? store : peer).commit({ writes: [], adds: [add('a/n/x', 1)] }),
    )
    const reached = (await Promise.all(all)).map(result => (result.committed ? result.units![0]! : 0))
    expect(reached.sort((a, b) => a - b)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
    expect(await textOf(store, 'a/n/x')).toBe('200')
  })
}

export function testOperations(options: ConformanceOptions): void {
  const { expect } = options.kit

  for (const name of ['own', 'foreign'] as const) {
    testWith(
      options,
      `an operation with an id, ${name}, takes effect once`,
      async ({ store, peer = store, reopen }) => {
        const commit = operationOf(idOf(name, 1, 0), 'print', { adds: [add('a/n/x', 5)] })
        const first = await store.commit(commit)
        expect(first).toMatchObject({ committed: true, units: [5] })
        const replayed = { ...first, replayed: { note: 'a note' } }
        expect(await peer.commit(commit)).toEqual(replayed)
        await store.commit({ writes: [], adds: [add('a/n/x', 1)] })
        expect(await store.commit(commit)).toEqual(replayed)
        expect(await store.commit({ ...commit, operation: { ...commit.operation!, fingerprint: 'another' } })).toEqual({
          committed: false,
          conflicts: [],
          refusedOperation: 'mismatched',
        })
        if (reopen) expect(await (await reopen()).commit(commit)).toEqual(replayed)
      },
    )
  }

  testWith(
    options,
    'an operation sent twice at once takes effect once, and both copies get the same result',
    async ({ store, peer = store }) => {
      const commit = operationOf(idOf('own', 1, 0), 'print', { adds: [add('a/n/x', 1)] })
      const results = await Promise.all([store.commit(commit), peer.commit(commit), store.commit(commit)])
      expect(results.map(result => result.committed && result.units)).toEqual([[1], [1], [1]])
      expect(results.filter(result => result.committed && result.replayed === undefined).length).toBe(1)
    },
  )

  testWith(
    options,
    'an operation that was done is recognised before later changes can refuse it',
    async ({ store }) => {
      const { position } = (await store.commit({ writes: [put('a/b/c', 1)] })) as { position: number }
      const reads = [{ key: 'a/b/c', version: position }]
      const commit = operationOf(idOf('foreign', 1, 0), 'print', { reads, writes: [put('a/b/c', 2)] })
      const first = await store.commit(commit)
      expect(first.committed).toBe(true)
      expect(await store.commit(commit)).toEqual({ ...first, replayed: { note: 'a note' } })
    },
  )

  testOperationIds(options)
  testRefusedOperations(options)

  testWith(
    options,
    'any operations, lost and repeated in any order, add up to the sum of the acknowledged ones',
    async under => {
      const { peer = under.store, reopen } = under
      await walk(under.store, peer, reopen, createRandom(options.seed ?? 6), expect)
    },
  )
}

function testOperationIds(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(
    options,
    'a commit that cannot hold shows whether its operation was done, and leaves nothing behind',
    async ({ store }) => {
      const reads = [{ key: 'a/b/never', version: Number.MAX_SAFE_INTEGER }]
      for (const id of [{ kind: 'foreign', id: 'some key' }, idOf('own', 1, 0)] as const) {
        const question = operationOf(id, 'print', { reads, writes: [] })
        expect(await store.commit(question)).toMatchObject({
          committed: false,
          conflicts: [{ key: 'a/b/never', version: 0 }],
        })
        expect(await store.operationCounts()).toMatchObject({ clients: 0, foreign: 0 })
      }
      const done = operationOf(idOf('own', 1, 0), 'print', { writes: [put('a/b/c', 1)] })
      const first = await store.commit(done)
      expect(await store.commit({ ...done, reads, writes: [] })).toEqual({ ...first, replayed: { note: 'a note' } })
    },
  )

  testWith(options, 'ids of foreign operations may have 255 characters, including spaces', async ({ store }) => {
    for (const last of ['a', 'b']) {
      const id = { kind: 'foreign', id: `of  a caller ${'x'.repeat(241)}${last}` } as const
      const commit = operationOf(id, 'print', { writes: [put('a/b/c', 1)] })
      const first = await store.commit(commit)
      expect(first).toEqual({ committed: true, position: (first as { position: number }).position })
      expect(await store.commit(commit)).toEqual({ ...first, replayed: { note: 'a note' } })
    }
  })
}

function testRefusedOperations(options: ConformanceOptions): void {
  const { expect } = options.kit

  testWith(
    options,
    'a refused commit may be tried again under the same id, unless the refusal is remembered',
    async ({ store }) => {
      const commit = operationOf(idOf('own', 1, 0), 'print', { adds: [{ ...add('a/n/x', -1), min: 0 }] })
      expect((await store.commit(commit)).committed).toBe(false)
      await store.commit({ writes: [], adds: [add('a/n/x', 1)] })
      expect(await store.commit(commit)).toMatchObject({ committed: true, units: [0] })
    },
  )

  for (const name of ['own', 'foreign'] as const) {
    testWith(
      options,
      `a refused operation is not done later, once its refusal is remembered: id ${name}`,
      async ({ store, peer = store, reopen }) => {
        const before = await store.position()
        const commit = operationOf(idOf(name, 1, 0), 'print', { adds: [{ ...add('a/n/x', -1), min: 0 }] })
        expect((await store.commit(commit)).committed).toBe(false)
        const refusal = { ...commit, adds: [], operation: { ...commit.operation!, note: 'refused' } }
        expect(await store.commit(refusal)).toEqual({ committed: true, position: before })
        await store.commit({ writes: [], adds: [add('a/n/x', 1)] })
        const replayed = { committed: true, position: before, replayed: { note: 'refused' } }
        expect(await peer.commit(commit)).toEqual(replayed)
        expect(await store.commit(refusal)).toEqual(replayed)
        const last = reopen ? await reopen() : store
        expect(await last.commit(commit)).toEqual(replayed)
        expect(await textOf(last, 'a/n/x')).toBe('1')
        expect((await last.changes(before)).length).toBe(1)
      },
    )
  }

  testWith(options, 'a settled operation is not done, nor one that is too old or too early', async ({ store }) => {
    const refusal = async (id: OwnOperationId) => {
      const result = await store.commit(operationOf(id, 'print', { adds: [add('a/n/x', 1)] }))
      return result.committed ? 'done' : result.refusedOperation
    }
    const nowMs = Math.floor(store.nowMs())
    expect(await refusal({ ...idOf('own', 7, 6), madeMs: nowMs } as OwnOperationId)).toBe('done')
    expect(await refusal({ ...idOf('own', 6, 5), madeMs: nowMs } as OwnOperationId)).toBe('settled')
    const tooOld = nowMs - store.supports.retentionMs - 1000
    if (tooOld >= 0) expect(await refusal({ ...idOf('own', 8, 6), madeMs: tooOld } as OwnOperationId)).toBe('expired')
    expect(await refusal({ ...idOf('own', 8, 6), madeMs: nowMs + 3_600_000 } as OwnOperationId)).toBe('early')
  })
}

interface Known {
  readonly commit: Commit
  readonly first: CommitResult
}

/** The model: a sum for each counter, and the first result of each operation. */
async function walk(
  opened: Store,
  peer: Store,
  reopen: (() => Promise<Store>) | undefined,
  random: Random,
  expect: ConformanceOptions['kit']['expect'],
): Promise<void> {
  let stores = [opened, peer]
  const sums = new Map<string, number>()
  const known: Known[] = []
  const sequences = new Map<string, number>()
  const nowMs = Math.floor(opened.nowMs())
  for (let step = 0; step < STEPS; step++) {
    const store = stores[random.below(stores.length)]!
    if (known.length > 0 && random.below(3) === 0) {
      const { commit, first } = known[random.below(known.length)]!
      expect(await store.commit(commit), `step ${step}`).toEqual({ ...first, replayed: { note: 'a note' } })
      continue
    }
    if (reopen && random.below(150) === 0) {
      stores = [await reopen()]
      continue
    }
    const adds = COUNTERS.filter(() => random.below(2) === 0).map(key => add(key, random.below(21) - 10))
    if (adds.length === 0) continue
    const client = CLIENTS[random.below(CLIENTS.length)]!
    const sequence = (sequences.get(client) ?? 0) + 1 + random.below(2)
    sequences.set(client, sequence)
    const own: OperationId = { kind: 'own', client, sequence, settledTo: 0, madeMs: nowMs }
    const id: OperationId =
      random.below(2) === 0 ? own : { kind: 'foreign', id: `${client} ${sequence}`.replace(' ', '-') }
    const commit = operationOf(id, `${step}`, { adds })
    const first = await store.commit(commit)
    for (const { key, by } of adds) sums.set(key, (sums.get(key) ?? 0) + by)
    expect(first, `step ${step}`).toMatchObject({ committed: true, units: adds.map(({ key }) => sums.get(key)!) })
    known.push({ commit, first })
  }
  for (const [key, sum] of sums) expect(await textOf(stores[0]!, key)).toBe(`${sum + 0}`)
}

function add(key: string, by: number): Addition {
  return { key, by, decimals: 0 }
}

function idOf(kind: 'own' | 'foreign', sequence: number, settledTo: number): OperationId {
  if (kind === 'foreign') return { kind, id: `order-${sequence}` }
  return { kind, client: CLIENTS[0], sequence, settledTo, madeMs: 0 }
}

function operationOf(id: OperationId, fingerprint: string, commit: Partial<Commit>): Commit {
  return { writes: [], ...commit, operation: { id, fingerprint, note: 'a note' } }
}

async function textOf(store: Store, key: string): Promise<string | undefined> {
  const value = await store.get(key)
  return value && new TextDecoder().decode(value.body)
}
