import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServerClock } from './server-clock.js'

test('nothing is considered fresher than it is, whatever the delays and the drift', () => {
  const exchange = fc.record({
    gapMs: fc.double({ min: 0, max: 50_000, noNaN: true }),
    requestMs: fc.double({ min: 0, max: 3000, noNaN: true }),
  })
  const rates = fc.record({
    server: fc.double({ min: 0.9998, max: 1, noNaN: true }),
    client: fc.double({ min: 0.9998, max: 1.5, noNaN: true }),
  })
  fc.assert(
    fc.property(fc.array(exchange, { minLength: 1, maxLength: 20 }), rates, (exchanges, { server, client }) => {
      const clock = new ServerClock()
      let realMs = 0
      const serverMs = () => Math.floor(realMs * server)
      for (const { gapMs, requestMs } of exchanges) {
        realMs += gapMs
        const madeAtMs = realMs * client
        expect(clock.asOfMs(serverMs())).toBeLessThanOrEqual(madeAtMs + 1e-6)
        const askedAtMs = realMs * client
        realMs += requestMs
        clock.sample(askedAtMs, serverMs(), realMs * client)
      }
    }),
  )
})

test('without delay and drift the bound is within 2 ms after a second', () => {
  const clock = new ServerClock()
  clock.sample(5000, 100)
  expect(clock.asOfMs(1100)).toBeGreaterThan(5998)
})

test('the next exchange detects a clock that stood still and has caught up', () => {
  const clock = new ServerClock()
  clock.sample(5000, 100, 5002)
  // 50 ms later, it shows 3 s more.
  expect(clock.asOfMs(3150)).toBeGreaterThan(8000)
  clock.sample(5050, 3150, 5052)
  expect(clock.asOfMs(3150)).toBeLessThanOrEqual(5050)
  expect(clock.nowMs(5060)).toBe(3160)
})

test('of two exchanges that agree the tighter one counts', () => {
  const clock = new ServerClock()
  clock.sample(5000, 100, 5002)
  clock.sample(5100, 300, 5302)
  expect(clock.asOfMs(300)).toBeGreaterThan(5198)
})

test('nothing is known about stamps from before the exchange: that clock may have stood still since', () => {
  const clock = new ServerClock()
  clock.sample(5000, 100)
  expect(clock.asOfMs(99)).toBe(Number.NEGATIVE_INFINITY)
})
