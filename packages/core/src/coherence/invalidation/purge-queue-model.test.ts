/**
 * Random lives of a queue: commits, failures whose purge was done all the same or not, restarts, a log that is trimmed,
 * more changes than fit. The naive model is the list of all purges that were done. Whatever happens:
 * - the cursor passes a change only if it was purged after the longest response time (or its copies had expired);
 * - whenever the queue has nothing to do, every change was purged after it was made;
 * - in the end, every change was purged after the longest response time;
 * - memory stays bounded.
 */
import { type Position, pathOfKey } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LogEntry } from '../../store/index.js'
import { type PurgeCursor, PurgeQueue, type PurgeStep } from './purge-queue.js'
import { EVERYTHING } from './purge-targets.js'

const REPEAT_MS = 1000
const WINDOW_MS = 4000
const TARGETS_MAX = 12
const BATCH_MAX = 4
const COMMIT_KEYS_MAX = 6
const READ_LIMIT = 5

type Event =
  | { kind: 'commit'; ids: number[]; gap: number }
  | { kind: 'burst'; from: number; count: number }
  | { kind: 'sleep'; ms: number }
  | { kind: 'work'; steps: number }
  | { kind: 'weather'; weather: Weather }
  | { kind: 'outage'; ids: number[] }
  | { kind: 'restart' }
  | { kind: 'trim' }

/** `lost`: purges are done, but the answer does not arrive. */
type Weather = 'fine' | 'down' | 'lost' | 'flaky'

interface Purge {
  readonly target: string
  readonly nowMs: number
}

class Life {
  readonly #canPurgeEverything: boolean
  readonly #intervalMs: number
  readonly entries: LogEntry[] = []
  readonly purges: Purge[] = []
  #queue: PurgeQueue
  #weather: Weather = 'fine'
  #runs = 0
  #sends = 0
  /** A batch, which will be sent again. */
  #hasFailed = false
  #nowMs = 0
  #trimmedTo = 0
  #cursor: PurgeCursor = { once: 0, twice: 0 }
  #rememberedMs = 0

  constructor(canPurgeEverything: boolean, intervalMs: number) {
    this.#canPurgeEverything = canPurgeEverything
    this.#intervalMs = intervalMs
    this.#queue = this.#start()
  }

  live(event: Event): void {
    if (event.kind === 'commit') this.#commit(event.ids, event.gap)
    if (event.kind === 'burst') for (let i = 0; i < event.count; i++) this.#commit([event.from + i], 0)
    if (event.kind === 'sleep') this.#nowMs += event.ms
    if (event.kind === 'work') this.#work(event.steps)
    if (event.kind === 'weather') this.#weather = event.weather
    if (event.kind === 'outage') this.#outlive(event.ids)
    if (event.kind === 'restart') this.#restart()
    if (event.kind === 'trim') this.#trim()
    expect(this.#queue.size).toBeLessThanOrEqual(2 * (TARGETS_MAX + 2 * COMMIT_KEYS_MAX) + BATCH_MAX)
  }

  /** Without failures and with enough time, until nothing is left to do. */
  end(): void {
    this.#weather = 'fine'
    for (let i = 0; i < 5000; i++) {
      const step = this.#queue.next(this.#nowMs, this.#head)
      if (step.kind === 'wait' && step.untilMs === undefined) break
      if (step.kind === 'wait') this.#nowMs = Math.max(this.#nowMs, step.untilMs!)
      else this.#do(step)
    }
    for (const entry of this.entries) if (!this.#isExpired(entry)) this.#expectPurged(entry, entry.timeMs + REPEAT_MS)
    expect(this.#cursor).toEqual({ once: this.#head, twice: this.#head })
  }

  get #head(): Position {
    return this.entries.at(-1)?.position ?? 0
  }

  #start(): PurgeQueue {
    return new PurgeQueue({
      cursor: this.#cursor,
      cursorAgeMs: this.#nowMs - this.#rememberedMs,
      nowMs: this.#nowMs,
      repeatAfterMs: REPEAT_MS,
      targetsMax: TARGETS_MAX,
      batchMax: BATCH_MAX,
      intervalMs: this.#intervalMs,
      cursorIntervalMs: 300,
      canPurgeEverything: this.#canPurgeEverything,
      backOff: { firstMs: 10, mostMs: 500 },
      referencePrefix: `run ${++this.#runs}`,
    })
  }

  #commit(ids: readonly number[], gap: number): void {
    const keys = [...new Set(ids)].map(id => `shop/b${id % 2}/${id}`)
    this.entries.push({ position: this.#head + 1 + gap, timeMs: this.#nowMs, keys, tags: [] })
  }

  /** Nothing is done for longer than copies live, and the log goes on. */
  #outlive(ids: readonly number[]): void {
    for (const id of ids) this.#commit([id], 1)
    this.#nowMs += WINDOW_MS
    for (const id of ids) this.#commit([id + 1], 0)
    this.#nowMs += 1
    this.#trim()
  }

  #restart(): void {
    this.#queue = this.#start()
    this.#hasFailed = false
  }

  /** Trims only changes that are older than any copy. */
  #trim(): void {
    const old = this.entries.filter(entry => entry.timeMs + WINDOW_MS < this.#nowMs).at(-1)
    if (old) this.#trimmedTo = Math.max(this.#trimmedTo, old.position)
  }

  #work(steps: number): void {
    for (let i = 0; i < steps; i++) {
      const step = this.#queue.next(this.#nowMs, this.#head)
      if (step.kind !== 'wait') this.#do(step)
      else {
        if (!this.#hasFailed && this.#intervalMs === 0) this.#expectFirstPurges()
        return
      }
    }
  }

  #expectFirstPurges(): void {
    for (const entry of this.entries) if (!this.#isExpired(entry)) this.#expectPurged(entry, entry.timeMs)
  }

  #do(step: PurgeStep): void {
    if (step.kind === 'read') this.#read(step)
    if (step.kind === 'send') this.#send(step)
    if (step.kind !== 'remember') return
    for (const entry of this.entries) {
      if (this.#isExpired(entry)) continue
      if (entry.position <= step.cursor.twice) this.#expectPurged(entry, entry.timeMs + REPEAT_MS)
      if (entry.position <= step.cursor.once) this.#expectPurged(entry, entry.timeMs)
    }
    this.#cursor = step.cursor
    this.#rememberedMs = this.#nowMs
    this.#queue.remembered(step.cursor, this.#nowMs)
  }

  #read(step: PurgeStep & { kind: 'read' }): void {
    if (step.after < this.#trimmedTo) this.#queue.trimmed(step, this.#trimmedTo, this.#nowMs, this.#nowMs)
    else {
      const entries = this.entries.filter(entry => entry.position > step.after).slice(0, READ_LIMIT)
      this.#queue.took(step, entries, this.#nowMs)
    }
  }

  #send({ batch: { targets } }: PurgeStep & { kind: 'send' }): void {
    this.#sends++
    expect(targets.length).toBeGreaterThan(0)
    expect(targets.length).toBeLessThanOrEqual(targets.includes(EVERYTHING) ? 1 : BATCH_MAX)
    const weather = this.#weather === 'flaky' ? (['fine', 'down', 'lost'] as const)[this.#sends % 3]! : this.#weather
    if (weather !== 'down') for (const target of targets) this.purges.push({ target, nowMs: this.#nowMs })
    this.#hasFailed = weather !== 'fine'
    if (weather === 'fine') this.#queue.sent()
    else this.#queue.failed(this.#nowMs, (this.#sends % 10) / 10)
  }

  #isExpired({ position }: LogEntry): boolean {
    return position <= this.#trimmedTo
  }

  #expectPurged({ keys, position }: LogEntry, fromMs: number): void {
    for (const key of keys) {
      const path = pathOfKey(key)
      const lists = path.slice(0, path.lastIndexOf('/'))
      for (const target of [path, lists]) {
        const done = this.purges.some(
          purge => purge.nowMs >= fromMs && (purge.target === target || purge.target === EVERYTHING),
        )
        if (!done) throw new Error(`${target}, changed at position ${position}, was not purged from ${fromMs} ms on.`)
      }
    }
  }
}

const id = fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.nat(60) })
const event: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      ids: fc.array(id, { minLength: 1, maxLength: COMMIT_KEYS_MAX }),
      gap: fc.nat(2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('burst' as const),
      from: fc.nat(50),
      count: fc.integer({ min: 5, max: 40 }),
    }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('sleep' as const), ms: fc.nat(700) }) },
  { weight: 10, arbitrary: fc.record({ kind: fc.constant('work' as const), steps: fc.integer({ min: 1, max: 30 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('weather' as const),
      weather: fc.constantFrom<Weather>('fine', 'fine', 'down', 'lost', 'flaky'),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'trim' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('outage' as const), ids: fc.array(id, { minLength: 1, maxLength: 9 }) }),
  },
)

test('whatever fails, restarts, overflows or is trimmed, every change is purged after the longest response', () => {
  fc.assert(
    fc.property(
      fc.array(event, { minLength: 10, maxLength: 120 }),
      fc.boolean(),
      fc.constantFrom(0, 150),
      (events, canPurgeEverything, intervalMs) => {
        const life = new Life(canPurgeEverything, intervalMs)
        for (const each of events) life.live(each)
        life.end()
      },
    ),
    { numRuns: 1500 },
  )
})
