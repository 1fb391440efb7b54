import type { Position } from '@freshet/protocol'
import { expect, test } from 'vitest'
import type { LogEntry } from '../../store/index.js'
import { type PurgeCursor, PurgeQueue, type PurgeQueueOptions, type PurgeStep } from './purge-queue.js'

const OPTIONS: PurgeQueueOptions = {
  cursor: { once: 0, twice: 0 },
  cursorAgeMs: 0,
  nowMs: 0,
  repeatAfterMs: 1000,
  targetsMax: 100,
  batchMax: 10,
  intervalMs: 0,
  cursorIntervalMs: 500,
  canPurgeEverything: false,
  backOff: { firstMs: 100, mostMs: 5000 },
  referencePrefix: 'run',
}

/** A queue, its log, and a driver that carries out its steps. */
class Scene {
  readonly queue: PurgeQueue
  readonly entries: LogEntry[] = []
  readonly batches: (readonly string[])[] = []
  cursor: PurgeCursor | undefined
  nowMs = 0
  fails = false

  constructor(options: Partial<PurgeQueueOptions> = {}) {
    this.queue = new PurgeQueue({ ...OPTIONS, ...options })
  }

  get head(): Position {
    return this.entries.at(-1)?.position ?? 0
  }

  commit(...ids: readonly string[]): void {
    this.entries.push({ position: this.head + 1, timeMs: this.nowMs, keys: ids.map(id => `shop/tea/${id}`), tags: [] })
  }

  /** Until there is something to wait for, or a batch has failed. */
  run(): PurgeStep {
    for (;;) {
      const step = this.queue.next(this.nowMs, this.head)
      if (step.kind === 'wait') return step
      this.do(step)
    }
  }

  do(step: PurgeStep): void {
    if (step.kind === 'read') {
      const entries = this.entries.filter(entry => entry.position > step.after)
      this.queue.took(step, entries.slice(0, 50), this.nowMs)
    }
    if (step.kind === 'remember') {
      this.cursor = step.cursor
      this.queue.remembered(step.cursor, this.nowMs)
    }
    if (step.kind === 'send') {
      this.batches.push([...step.batch.targets, step.batch.reference])
      if (this.fails) this.queue.failed(this.nowMs, 1)
      else this.queue.sent()
    }
  }
}

const OBJECT = '/db/shop/tea/green'
const LISTS = '/db/shop/tea'

test('a change purges the object and the lists of its bucket at once, and again after the longest response', () => {
  const scene = new Scene()
  scene.commit('green')
  // The first pass is remembered before.
  expect(scene.run()).toEqual({ kind: 'wait', untilMs: 500 })
  expect(scene.batches).toEqual([[OBJECT, LISTS, 'run-1']])
  scene.nowMs = 999
  scene.run()
  expect(scene.batches).toHaveLength(1)
  scene.nowMs = 1000
  scene.run()
  expect(scene.batches[1]).toEqual([OBJECT, LISTS, 'run-2'])
})

test('a target that changes ten times while it waits is purged once', () => {
  const scene = new Scene({ intervalMs: 200 })
  scene.commit('white')
  scene.run()
  for (let i = 0; i < 10; i++) scene.commit('green')
  expect(scene.run()).toEqual({ kind: 'wait', untilMs: 200 })
  scene.nowMs = 200
  scene.run()
  expect(scene.batches.slice(1)).toEqual([[OBJECT, LISTS, 'run-2']])
})

test('a failed batch is sent again unchanged, later and later; changes since then come after it', () => {
  const scene = new Scene()
  scene.fails = true
  scene.commit('green')
  expect(scene.run()).toEqual({ kind: 'wait', untilMs: 100 })
  scene.commit('green')
  scene.nowMs = 100
  expect(scene.run()).toEqual({ kind: 'wait', untilMs: 300 })
  expect(scene.queue.isDown).toBe(true)
  scene.nowMs = 300
  scene.fails = false
  scene.run()
  expect(scene.batches).toEqual([
    [OBJECT, LISTS, 'run-1'],
    [OBJECT, LISTS, 'run-1'],
    [OBJECT, LISTS, 'run-1'],
    [OBJECT, LISTS, 'run-2'],
  ])
  expect(scene.queue.isDown).toBe(false)
})

test('waits grow up to their limit, at random between half and all of it, and last as long as the cache asks', () => {
  const scene = new Scene()
  scene.commit('green')
  scene.do(scene.queue.next(0, 1))
  scene.queue.next(0, 1)
  const untilMs = (random: number, retryAfterMs?: number) => {
    scene.queue.failed(0, random, retryAfterMs)
    return scene.queue.next(0, 1)
  }
  expect([0, 1, 0, 1].map(random => untilMs(random))).toEqual(
    [50, 200, 200, 800].map(ms => ({ kind: 'wait', untilMs: ms })),
  )
  expect(untilMs(0, 60_000)).toEqual({ kind: 'wait', untilMs: 60_000 })
  for (let i = 0; i < 100; i++) untilMs(1)
  expect(untilMs(1)).toEqual({ kind: 'wait', untilMs: 5000 })
})

test('down and up are reported once each', () => {
  const { queue } = new Scene()
  expect([queue.failed(0, 0), queue.failed(0, 0), queue.failed(0, 0)]).toEqual([undefined, 'down', undefined])
  expect([queue.sent(), queue.sent()]).toEqual(['up', undefined])
})

test('the cursor passes a change only after its second purge, and is not remembered at every one', () => {
  const scene = new Scene()
  for (let i = 0; i < 40; i++) {
    scene.nowMs = i * 100
    scene.commit(`t${i % 3}`)
    scene.run()
    const settled = scene.entries.filter(entry => entry.timeMs + 1000 <= scene.nowMs).at(-1)?.position ?? 0
    expect(scene.cursor?.twice ?? 0).toBeLessThanOrEqual(settled)
  }
  // It advances although the same three objects change all the time.
  expect(scene.cursor?.twice).toBeGreaterThan(20)
})

test('too many changes become one purge of everything if the cache can, and the rest of the log is not read', () => {
  const scene = new Scene({ canPurgeEverything: true, targetsMax: 20 })
  for (let i = 0; i < 500; i++) scene.commit(`t${i}`)
  scene.run()
  expect(scene.batches).toEqual([['*', 'run-1']])
  scene.nowMs = 1000
  scene.run()
  expect(scene.batches).toEqual([
    ['*', 'run-1'],
    ['*', 'run-2'],
  ])
  expect(scene.queue.cursor).toEqual({ once: 500, twice: 500 })
})

test('too many changes are read bit by bit if the cache cannot purge everything', () => {
  const scene = new Scene({ targetsMax: 20 })
  for (let i = 0; i < 500; i++) scene.commit(`t${i}`)
  let sizeMax = 0
  for (let step = scene.queue.next(0, 500); step.kind !== 'wait'; step = scene.queue.next(0, 500)) {
    scene.do(step)
    sizeMax = Math.max(sizeMax, scene.queue.size)
  }
  expect(sizeMax).toBeLessThan(2 * 20 + 10)
  expect(new Set(scene.batches.flat().filter(target => target.startsWith('/db/shop/tea/'))).size).toBe(500)
})

test('repeats and first purges share a batch, so that neither keeps the other waiting', () => {
  const scene = new Scene({ batchMax: 4 })
  for (let i = 0; i < 8; i++) scene.commit(`old${i}`)
  scene.run()
  scene.nowMs = 1000
  for (let i = 0; i < 8; i++) scene.commit(`new${i}`)
  const before = scene.batches.length
  scene.run()
  expect(scene.batches[before]).toEqual(['/db/shop/tea/old0', LISTS, '/db/shop/tea/new0', '/db/shop/tea/new1', 'run-4'])
})

test.each([true, false])(
  'if the log was trimmed beyond its cursor it purges everything if it can (%s), and goes on',
  canPurgeEverything => {
    const scene = new Scene({ canPurgeEverything })
    for (let i = 0; i < 9; i++) scene.commit('green')
    const step = scene.queue.next(0, 9) as PurgeStep & { kind: 'read' }
    expect(step).toEqual({ kind: 'read', pass: 'first', after: 0, upTo: 9 })
    expect(scene.queue.trimmed(step, 5, 0, 0)).toBe(canPurgeEverything)
    scene.run()
    expect(scene.batches).toEqual([canPurgeEverything ? ['*', 'run-1'] : [OBJECT, LISTS, 'run-1']])
  },
)

test('repeats fill a batch when there is nothing else to purge', () => {
  const scene = new Scene({ batchMax: 4 })
  for (let i = 0; i < 7; i++) scene.commit(`old${i}`)
  scene.run()
  scene.nowMs = 1000
  scene.run()
  expect(scene.batches.map(batch => batch.length - 1)).toEqual([4, 4, 4, 4])
})

test('its lag is the age of the oldest change not purged', () => {
  const scene = new Scene()
  scene.fails = true
  scene.nowMs = 70
  scene.commit('green')
  scene.nowMs = 90
  scene.commit('green')
  scene.run()
  expect(scene.queue.lag(2)).toEqual({ positions: 2, sinceMs: 70 })
  scene.fails = false
  scene.nowMs = 1000
  scene.run()
  expect(scene.queue.lag(2)).toEqual({ positions: 0, sinceMs: undefined })
})

test('a server that takes over first purges the changes that no cache was sent, and repeats the rest when it is due', () => {
  const first = new Scene()
  for (let i = 0; i < 20; i++) first.commit(`old-${i}`)
  first.run()
  first.nowMs = 500
  first.run()
  expect(first.cursor).toEqual({ once: 20, twice: 0 })
  // The server is killed; another server continues to write, and takes over.
  const nowMs = 900
  const second = new Scene({ cursor: first.cursor!, cursorAgeMs: 400, nowMs })
  second.entries.push(...first.entries)
  second.nowMs = nowMs
  second.commit('new')
  second.run()
  expect(second.batches).toEqual([['/db/shop/tea/new', LISTS, 'run-1']])
  second.nowMs = 1499
  second.run()
  expect(second.batches).toHaveLength(1)
  second.nowMs = 1500
  second.run()
  expect(second.batches.flat()).toContain('/db/shop/tea/old-19')
})
