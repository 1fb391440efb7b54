import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { afterDrift, cristianOffset, errorOf, middleOf, ntpOffset, OffsetFilter, resynchroniseEvery } from './offset.js'

const delays = fc.record({
  offset: fc.integer({ min: -1_000_000, max: 1_000_000 }),
  thereMin: fc.nat({ max: 500 }),
  backMin: fc.nat({ max: 500 }),
  there: fc.nat({ max: 5000 }),
  thinking: fc.nat({ max: 1000 }),
  back: fc.nat({ max: 5000 }),
})

interface Drawn {
  readonly offset: number
  readonly thereMin: number
  readonly backMin: number
  readonly there: number
  readonly thinking: number
  readonly back: number
}

/** Our clock shows real time, the server's is ahead by `offset`. */
function exchange({ offset, thereMin, backMin, there, thinking, back }: Drawn) {
  const asked = 7000
  const arrived = asked + thereMin + there
  const left = arrived + thinking
  return { asked, received: arrived + offset, sent: left + offset, answered: left + backMin + back }
}

describe('the true offset', () => {
  test('lies within the bound of Cristian, and known delays narrow it by exactly their sum', () => {
    fc.assert(
      fc.property(delays, drawn => {
        const { asked, sent, answered } = exchange(drawn)
        const { offset, thereMin, backMin } = drawn
        const range = cristianOffset({ asked, answered, server: sent, thereMin, backMin })
        expect(Math.abs(offset - middleOf(range))).toBeLessThanOrEqual(errorOf(range))
        expect(errorOf(range)).toBe((answered - asked - thereMin - backMin) / 2)
        // When the answer comes the server's clock is in [t + min2, t + RTT - min1].
        expect(answered + range.least).toBe(sent + backMin)
        expect(answered + range.most).toBe(sent + (answered - asked) - thereMin)
      }),
    )
  })

  test('lies within the bound of NTP, which is half the time on the way', () => {
    fc.assert(
      fc.property(delays, drawn => {
        const { asked, received, sent, answered } = exchange(drawn)
        const range = ntpOffset({ asked, received, sent, answered })
        expect(Math.abs(drawn.offset - middleOf(range))).toBeLessThanOrEqual(errorOf(range))
        expect(middleOf(range)).toBe((received - asked + (sent - answered)) / 2)
        expect(errorOf(range)).toBe((answered - asked - (sent - received)) / 2)
      }),
    )
  })

  test('is met exactly when both ways take equally long', () => {
    expect(middleOf(ntpOffset({ asked: 100, received: 1150, sent: 1160, answered: 210 }))).toBe(1000)
  })

  test('stays within the range of the best of the last samples while both clocks drift', () => {
    const driftMax = 0.001
    const rounds = fc.array(
      fc.record({ gap: fc.nat({ max: 100_000 }), there: fc.nat({ max: 300 }), back: fc.nat({ max: 300 }) }),
      { minLength: 1, maxLength: 20 },
    )
    const rate = fc.double({ min: -driftMax, max: driftMax, noNaN: true })
    fc.assert(
      fc.property(rounds, rate, rate, fc.integer({ min: 1, max: 8 }), (drawn, ours, theirs, samplesMax) => {
        const filter = new OffsetFilter({ driftMax, samplesMax })
        const [own, server] = [(real: number) => real * (1 + ours), (real: number) => 5000 + real * (1 + theirs)]
        let real = 0
        let longest = 0
        for (const { gap, there, back } of drawn) {
          real += gap
          longest = Math.max(longest, there + back)
          const asked = own(real)
          const read = server(real + there)
          real += there + back
          filter.add(cristianOffset({ asked, answered: own(real), server: read }), own(real))
          const { least, most } = filter.at(own(real))
          const truth = server(real) - own(real)
          // Clocks drift during an exchange too, also during that of an older sample; and the elapsed time is measured by a clock
          // that drifts.
          const slack = 2 * driftMax * longest + 3 * driftMax ** 2 * real + 1e-6
          expect(truth).toBeGreaterThanOrEqual(least - slack)
          expect(truth).toBeLessThanOrEqual(most + slack)
        }
      }),
    )
  })
})

test('samples that contradict each other mean that a clock was set: only the new one counts', () => {
  const filter = new OffsetFilter({ driftMax: 0.001, samplesMax: 8 })
  filter.add({ least: 0, most: 10 }, 0)
  filter.add({ least: 900, most: 910 }, 1000)
  expect(filter.at(1000)).toEqual({ least: 900, most: 910 })
})

test('clocks that are synchronised every M / (2 x drift) are never further apart than M', () => {
  const every = resynchroniseEvery(100, 0.0005)
  expect(every).toBe(100_000)
  expect(afterDrift({ least: 0, most: 0 }, every, 0.0005).most).toBe(100)
})
