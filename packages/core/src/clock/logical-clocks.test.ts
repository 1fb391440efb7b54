import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareHybrid, HYBRID_ZERO, type HybridTime, receiveHybrid, tickHybrid } from './hybrid.js'
import { compareLamport, receiveLamport, tickLamport } from './lamport.js'
import { compareVectors, mergeVectors, receiveVector, tickVector, type VectorClock } from './vector.js'

interface Event {
  readonly process: string
  readonly lamport: number
  readonly vector: VectorClock
  readonly hybrid: HybridTime
  readonly realMs: number
  readonly physicalMs: number
  /** Everything that happened before, found by following each arrow. */
  readonly past: ReadonlySet<Event>
}

const PROCESSES = ['a', 'b', 'c', 'd']
const SKEW_MS_MAX = 100

/** A step: a process has an event, which receives the message of an earlier event or none. */
const steps = fc.array(
  fc.record({
    process: fc.constantFrom(...PROCESSES),
    receives: fc.option(fc.nat({ max: 30 }), { nil: undefined }),
    afterMs: fc.nat({ max: 20 }),
    skewMs: fc.integer({ min: -SKEW_MS_MAX, max: SKEW_MS_MAX }),
  }),
  { minLength: 1, maxLength: 30 },
)

function run(schedule: Parameters<typeof eventOf>[1][]): Event[] {
  const events: Event[] = []
  for (const step of schedule) events.push(eventOf(events, step))
  return events
}

function eventOf(
  events: readonly Event[],
  step: { process: string; receives: number | undefined; afterMs: number; skewMs: number },
): Event {
  const { process } = step
  const realMs = (events.at(-1)?.realMs ?? 0) + step.afterMs
  const physicalMs = realMs + step.skewMs
  const own = events.findLast(event => event.process === process)
  const got = step.receives === undefined ? undefined : events[step.receives]
  const [vector, lamport, hybrid] = [own?.vector ?? {}, own?.lamport ?? 0, own?.hybrid ?? HYBRID_ZERO]
  const past = new Set([own, got].flatMap(event => (event === undefined ? [] : [event, ...event.past])))
  return {
    ...{ process, realMs, physicalMs, past },
    vector: got ? receiveVector(vector, process, got.vector) : tickVector(vector, process),
    lamport: got ? receiveLamport(lamport, got.lamport) : tickLamport(lamport),
    hybrid: got ? receiveHybrid(hybrid, got.hybrid, physicalMs, 2 * SKEW_MS_MAX)! : tickHybrid(hybrid, physicalMs),
  }
}

function eachPair(check: (a: Event, b: Event) => void): void {
  fc.assert(
    fc.property(steps, schedule => {
      const events = run(schedule)
      for (const a of events) for (const b of events) if (a !== b) check(a, b)
    }),
    { numRuns: 300 },
  )
}

describe('the happened-before order', () => {
  test('is exactly the order of vectors', () => {
    eachPair((a, b) => {
      const order = b.past.has(a) ? 'before' : a.past.has(b) ? 'after' : 'concurrent'
      expect(compareVectors(a.vector, b.vector)).toBe(order)
    })
  })

  test('is never contradicted by Lamport clocks or hybrid clocks', () => {
    eachPair((a, b) => {
      if (!b.past.has(a)) return
      expect(a.lamport).toBeLessThan(b.lamport)
      expect(compareHybrid(a.hybrid, b.hybrid)).toBeLessThan(0)
    })
  })

  test('extends to a total order by Lamport clocks and process names', () => {
    eachPair((a, b) => {
      const [forth, back] = [a, b].map(event => ({ clock: event.lamport, process: event.process }))
      expect(Math.sign(compareLamport(forth!, back!))).toBe(-Math.sign(compareLamport(back!, forth!)))
      expect(compareLamport(forth!, back!)).not.toBe(0)
    })
  })
})

describe('a hybrid clock', () => {
  test('is never behind its own clock, and ahead of real time by no more than the clock that is furthest ahead', () => {
    fc.assert(
      fc.property(steps, schedule => {
        for (const event of run(schedule)) {
          expect(event.hybrid.timeMs).toBeGreaterThanOrEqual(event.physicalMs)
          expect(event.hybrid.timeMs - event.realMs).toBeLessThanOrEqual(SKEW_MS_MAX)
        }
      }),
    )
  })

  test('refuses a message from a clock that is too far ahead, and accepts one at the limit', () => {
    const now = tickHybrid(HYBRID_ZERO, 1000)
    expect(receiveHybrid(now, { timeMs: 1501, count: 0 }, 1000, 500)).toBeUndefined()
    expect(receiveHybrid(now, { timeMs: 1500, count: 7 }, 1000, 500)).toEqual({ timeMs: 1500, count: 8 })
  })
})

test.each(['constructor', '__proto__', 'toString'])('a process may be called %s', name => {
  const once = tickVector({}, name)
  expect(Object.entries(once)).toEqual([[name, 1]])
  const both = mergeVectors(tickVector({}, 'other'), tickVector(once, name))
  expect(new Map(Object.entries(both))).toEqual(
    new Map([
      ['other', 1],
      [name, 2],
    ]),
  )
  expect(compareVectors({}, once)).toBe('before')
  expect(compareVectors(once, both)).toBe('before')
})
