import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createPessimisticClock } from './pessimistic-clock.js'

function startClock() {
  const time = { performanceMs: 1000, dateMs: 1.7e12 }
  const now = createPessimisticClock({
    ...{ performanceMs: () => time.performanceMs, dateMs: () => Math.floor(time.dateMs) },
  })
  const pass = (ms: number) => {
    time.performanceMs += ms
    time.dateMs += ms
  }
  return { time, now, pass }
}

test('it goes on while the machine sleeps', () => {
  const { time, now, pass } = startClock()
  const beforeMs = now()
  pass(100)
  time.dateMs += 60_000
  pass(100)
  expect(now() - beforeMs).toBeGreaterThanOrEqual(60_198)
})

test('it is not affected when the time of day is set back, and counts a sleep after that', () => {
  const { time, now, pass } = startClock()
  const beforeMs = now()
  time.dateMs -= 3_600_000
  pass(100)
  expect(now() - beforeMs).toBeCloseTo(100)
  time.dateMs += 60_000
  pass(100)
  expect(now() - beforeMs).toBeGreaterThanOrEqual(60_198)
})

test('however often it is read, it is never slower than performance.now(), nor faster while the machine is awake', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 1, maxLength: 200 }), steps => {
      const { time, now, pass } = startClock()
      const [beforeMs, startMs] = [now(), time.performanceMs]
      for (const step of steps) {
        pass(step)
        expect(now() - beforeMs).toBeCloseTo(time.performanceMs - startMs, 5)
      }
    }),
  )
})
