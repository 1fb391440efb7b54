import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WriteTimes } from './write-times.js'

describe('the time of a write, by its position', () => {
  it('is the time of the mark that covers it', () => {
    const times = new WriteTimes(10)
    times.mark(5, 0)
    times.mark(9, 60_000)
    expect([3, 5, 6, 9].map(position => times.timeOf(position))).toEqual([0, 0, 60_000, 60_000])
    expect(times.timeOf(10)).toBeUndefined()
  })

  it('is exact to a second while there is room for more marks', () => {
    const times = new WriteTimes(100)
    for (let i = 0; i < 500; i++) times.mark(i, i * 100)
    for (let i = 1; i < 500; i++) expect(times.timeOf(i)! - i * 100).toBeLessThan(1000)
  })

  it('is never before the true one, nor after the last, and takes a bounded number of marks', () => {
    const step = fc.record({ positions: fc.integer({ min: 1, max: 5 }), waitMs: fc.constantFrom(0, 1, 300, 5000, 1e6) })
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 300, size: 'max' }), steps => {
        const times = new WriteTimes(16)
        const truth = new Map<number, number>()
        let [position, timeMs] = [0, 0]
        for (const { positions, waitMs } of steps) {
          timeMs += waitMs
          position += positions
          truth.set(position, timeMs)
          times.mark(position, timeMs)
          expect(times.size).toBeLessThanOrEqual(16)
        }
        for (const [at, trueMs] of truth) {
          expect(times.timeOf(at)).toBeGreaterThanOrEqual(trueMs)
          expect(times.timeOf(at)).toBeLessThanOrEqual(timeMs)
        }
      }),
    )
  })

  it('grows coarser with age, in proportion', () => {
    const times = new WriteTimes(64)
    const lastMs = 10_000_000
    for (let timeMs = 0; timeMs <= lastMs; timeMs += 1000) times.mark(timeMs / 1000, timeMs)
    for (const ageMs of [10_000, 100_000, 1_000_000, 5_000_000]) {
      const answered = lastMs - times.timeOf((lastMs - ageMs) / 1000)!
      expect(answered).toBeLessThanOrEqual(ageMs)
      expect(answered).toBeGreaterThan(ageMs / 3)
    }
  })

  it('ignores marks that are known, and marks that would make time go back', () => {
    const times = new WriteTimes(10)
    times.mark(5, 5000)
    times.mark(4, 9000)
    times.mark(7, 1000)
    expect([times.timeOf(4), times.timeOf(7)]).toEqual([5000, undefined])
  })
})
