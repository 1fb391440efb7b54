import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LogEntry } from '../../store/index.js'
import { LearntLifetimes } from './learnt-lifetimes.js'

const SECOND = 1000
const HOUR = 3600 * SECOND
const DAY = 24 * HOUR
const BOUNDS = { minMs: SECOND, maxMs: DAY }
const all = () => true

function learn(entries: readonly LogEntry[], share = 0.1): LearntLifetimes {
  const learnt = new LearntLifetimes({ seed: 1n, entriesMax: 256, share, shareOfAge: share })
  for (const entry of entries) learnt.follow(entry, all)
  return learnt
}

/** A key written this many times, at this interval. */
function writes(key: string, count: number, gapMs: number): LogEntry[] {
  return Array.from({ length: count }, (_, i) => ({ position: i + 1, timeMs: i * gapMs, keys: [key], tags: [] }))
}

describe('a learnt lifetime', () => {
  it('is short for a key that is written often and long for one that is not', () => {
    const often = learn(writes('a', 50, 20 * SECOND))
    expect(often.lifetimeMs('a', 50, 49 * 20 * SECOND, BOUNDS)).toBeCloseTo(2 * SECOND)
    const seldom = learn(writes('a', 50, 10 * HOUR))
    expect(seldom.lifetimeMs('a', 50, 49 * 10 * HOUR, BOUNDS)).toBeCloseTo(HOUR)
  })

  it('grows with age, for a key that was hot and is left alone, and for one without a history', () => {
    const entries = writes('hot', 50, SECOND)
    const lastMs = entries.at(-1)!.timeMs
    const learnt = learn(entries)
    const ages = [0, SECOND, HOUR, 5 * HOUR, 20 * DAY]
    for (const key of ['hot', 'never seen']) {
      const lifetimes = ages.map(ageMs => learnt.lifetimeMs(key, 50, lastMs + ageMs, BOUNDS))
      expect(lifetimes).toEqual([SECOND, SECOND, HOUR / 10, HOUR / 2, DAY])
    }
  })

  it('of a key older than the log starts from where the log begins', () => {
    const learnt = new LearntLifetimes({ seed: 1n, shareOfAge: 0.1 })
    learnt.begin(100, 5 * DAY)
    expect(learnt.lifetimeMs('old', 40, 6 * DAY, BOUNDS)).toBe(DAY / 10)
  })

  it('of a key written a moment ago, before the log shows it, is the shortest', () => {
    expect(learn(writes('a', 3, DAY)).lifetimeMs('b', 99, 3 * DAY, BOUNDS)).toBe(SECOND)
  })

  it('becomes short within a dozen writes, however long it was', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 30 * DAY }),
        fc.integer({ min: 1, max: 10 * SECOND }),
        (stableWrites, stableGapMs, hotGapMs) => {
          const entries = writes('a', stableWrites, stableGapMs)
          for (let i = 0; i < 12; i++) {
            const { position, timeMs } = entries.at(-1)!
            entries.push({ position: position + 1, timeMs: timeMs + hotGapMs, keys: ['a'], tags: [] })
          }
          const { position, timeMs } = entries.at(-1)!
          const lifetimeMs = learn(entries).lifetimeMs('a', position, timeMs, BOUNDS)
          // The past counts for 0.75^12 = 3% of the logarithm: a factor of two for a day against ten seconds.
          expect(lifetimeMs).toBeLessThanOrEqual(Math.max(SECOND, 0.1 * 10 * SECOND * 2))
        },
      ),
    )
  })
})

describe('whatever happens', () => {
  const entry = fc.record({
    waitMs: fc.constantFrom(0, 1, 700, 60_000, DAY),
    gap: fc.integer({ min: 1, max: 4 }),
    keys: fc.array(fc.nat(600).map(String), { maxLength: 5 }),
  })
  const question = fc.record({
    key: fc.nat(700).map(String),
    version: fc.nat(500),
    laterMs: fc.constantFrom(-5000, 0, 1, HOUR, 400 * DAY),
    minMs: fc.nat(2 * HOUR),
    spanMs: fc.constantFrom(0, 1, HOUR, 30 * DAY),
    share: fc.constantFrom(0.001, 0.1, 1, 50),
  })

  it('lifetimes keep their bounds, and memory its size', () => {
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 100, size: 'max' }),
        fc.array(question, { minLength: 1, maxLength: 30 }),
        (entries, questions) => {
          const share = questions[0]!.share
          const learnt = learn(toLog(entries), share)
          const nowMs = toLog(entries).at(-1)?.timeMs ?? 0
          for (const { key, version, laterMs, minMs, spanMs } of questions) {
            const bounds = { minMs, maxMs: minMs + spanMs }
            const lifetimeMs = learnt.lifetimeMs(key, version, nowMs + laterMs, bounds)
            expect(lifetimeMs).toBeGreaterThanOrEqual(bounds.minMs)
            expect(lifetimeMs).toBeLessThanOrEqual(bounds.maxMs)
          }
          expect(learnt.sizeBytes).toBe(256 * 28)
        },
      ),
    )
  })

  it('a restart that reads the same log learns the same, even if it reads some of it twice', () => {
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 60, size: 'max' }), fc.nat(60), (entries, again) => {
        const log = toLog(entries)
        const [once, twice] = [learn(log), learn([...log.slice(0, again), ...log])]
        const { position, timeMs } = log.at(-1)!
        for (const key of log.flatMap(({ keys }) => keys)) {
          const ask = (learnt: LearntLifetimes) => learnt.lifetimeMs(key, position, timeMs, BOUNDS)
          expect(ask(twice)).toBe(ask(once))
        }
      }),
    )
  })

  function toLog(entries: readonly { waitMs: number; gap: number; keys: readonly string[] }[]): LogEntry[] {
    let [position, timeMs] = [0, 0]
    return entries.map(({ waitMs, gap, keys }) => {
      position += gap
      timeMs += waitMs
      return { position, timeMs, keys, tags: [] }
    })
  }
})

it('keys that are not learnt leave no trace, but their commits still move time on', () => {
  const learnt = new LearntLifetimes({ seed: 1n, shareOfAge: 0.1 })
  for (const entry of writes('a', 20, HOUR)) learnt.follow(entry, () => false)
  expect(learnt.lifetimeMs('a', 20, 19 * HOUR, BOUNDS)).toBe(SECOND)
  expect(learnt.lifetimeMs('a', 1, 19 * HOUR, BOUNDS)).toBeCloseTo(1.9 * HOUR)
})
