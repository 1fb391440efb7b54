import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FleetClock, LEASE_MS } from './fleet-clock.js'

/** The head as an engine keeps it, by the engine's own clock, which may be set. */
class Head {
  timeMs = 0
  setMs = 0

  timeAt(engineMs: number): number {
    return this.timeMs + Math.min(Math.max(engineMs - this.setMs, 0), LEASE_MS)
  }

  tick(engineMs: number, nowMs: number): number {
    this.timeMs = Math.max(nowMs, this.timeAt(engineMs))
    this.setMs = engineMs
    return this.timeMs
  }
}

interface Server {
  readonly clock: FleetClock
  /** How far its machine's clock is ahead of the true time, and how fast it runs. */
  readonly offsetMs: number
  readonly rate: number
}

const steps = fc.array(
  fc.record({
    /** Until then nothing happens. */
    pauseMs: fc.integer({ min: 0, max: 3000 }),
    server: fc.nat({ max: 2 }),
    /** How long a message takes from the engine to the server. */
    wayMs: fc.integer({ min: 0, max: 400 }),
    /** The engine's time of day is set. */
    jumpMs: fc.oneof(
      { weight: 9, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: fc.integer({ min: -1e9, max: 1e9 }) },
    ),
  }),
  { maxLength: 60 },
)

test('no server is ever ahead of the store, goes back, or goes faster than time, however clocks differ', () => {
  fc.assert(
    fc.property(steps, fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 3, maxLength: 3 }), (all, drifts) => {
      const head = new Head()
      let trueMs = 0
      let engineAheadMs = 5e9
      let jumps = 0
      const servers = drifts.map((ppm, i): Server => {
        const [offsetMs, rate] = [i * 1e7, 1 + ppm / 1e6]
        return { clock: new FleetClock(() => trueMs * rate + offsetMs), offsetMs, rate }
      })
      const reported = [0, 0, 0]
      for (const { pauseMs, server, wayMs, jumpMs } of all) {
        trueMs += pauseMs
        engineAheadMs += jumpMs
        if (jumpMs !== 0) jumps++
        const { clock } = servers[server]!
        const sentMs = clock.monotonicMs
        const askedMs = clock.nowMs()
        trueMs += wayMs
        const storeMs = head.tick(trueMs + engineAheadMs, askedMs)
        trueMs += wayMs
        clock.learn(storeMs, { sentMs, receivedMs: clock.monotonicMs })
        servers.forEach((each, i) => {
          const nowMs = each.clock.nowMs()
          expect(nowMs).toBeGreaterThanOrEqual(reported[i]!)
          reported[i] = nowMs
          // Except for the difference between two quartz clocks over the samples that are kept.
          if (jumps === 0) expect(nowMs).toBeLessThanOrEqual(head.timeAt(trueMs + engineAheadMs) + 1)
          expect(nowMs).toBeLessThanOrEqual(trueMs * (1 + 1e-4) + (jumps + 1) * LEASE_MS)
        })
      }
    }),
    { numRuns: 500 },
  )
})

test('a commit that hangs stops the clock of every server', () => {
  let trueMs = 0
  const head = new Head()
  const clock = new FleetClock(() => trueMs)
  clock.learn(head.tick(trueMs, 0), { sentMs: trueMs, receivedMs: trueMs })
  const decidedMs = head.tick(trueMs, clock.nowMs())
  trueMs += 60_000
  expect(clock.nowMs()).toBeLessThanOrEqual(decidedMs + LEASE_MS)
  expect(head.timeAt(trueMs)).toBe(decidedMs + LEASE_MS)
})
