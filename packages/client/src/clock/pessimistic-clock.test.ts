import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Clock, createPessimisticClock } from './pessimistic-clock.js'

function scene(): { clock: Clock; performance: { ms: number }; date: { ms: number } } {
  const performance = { ms: 100 }
  const date = { ms: 1_700_000_000_000 }
  const clock = createPessimisticClock({ performanceMs: () => performance.ms, dateMs: () => Math.floor(date.ms) })
  return { clock, performance, date }
}

describe('the session clock', () => {
  test('counts the hour that a laptop slept, during which performance.now() stood still', () => {
    const { clock, date } = scene()
    const before = clock()
    date.ms += 3_600_000
    expect(clock() - before).toBeGreaterThanOrEqual(3_600_000 - 2)
  })

  test('keeps advancing when the time of day is set back', () => {
    const { clock, performance, date } = scene()
    const before = clock()
    date.ms -= 3_600_000
    performance.ms += 500
    expect(clock() - before).toBeGreaterThanOrEqual(500 - 2)
  })

  test('counts sleep after the time of day was set back', () => {
    const { clock, performance, date } = scene()
    clock()
    date.ms -= 3_600_000
    performance.ms += 1
    const before = clock()
    date.ms += 10_000
    expect(clock() - before).toBeGreaterThanOrEqual(10_000 - 2)
  })

  test('does not run fast however often it is read', () => {
    const { clock, performance, date } = scene()
    const before = clock()
    for (let i = 0; i < 100_000; i++) {
      performance.ms += 0.1
      date.ms += 0.1
      clock()
    }
    expect(clock() - before).toBeLessThan(10_000 + 20)
  })

  test('over any interval advances as much as either clock, less 2 ms, and no two readings are equal', () => {
    const step = fc.record({
      performance: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 5000, noNaN: true })),
      date: fc.oneof(fc.constant(0), fc.double({ min: -10_000, max: 10_000, noNaN: true })),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const { clock, performance, date } = scene()
        const readings = [{ now: clock(), performance: performance.ms, date: Math.floor(date.ms) }]
        for (const { performance: p, date: d } of steps) {
          performance.ms += p
          date.ms += d
          readings.push({ now: clock(), performance: performance.ms, date: Math.floor(date.ms) })
        }
        readings.forEach((from, i) => {
          for (const to of readings.slice(i + 1)) {
            expect(to.now).toBeGreaterThan(from.now)
            expect(to.now - from.now).toBeGreaterThanOrEqual(to.performance - from.performance - 2.001)
            expect(to.now - from.now).toBeGreaterThanOrEqual(to.date - from.date - 2.001)
          }
        })
      }),
    )
  })
})
