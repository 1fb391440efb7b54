import { hashUnder } from '@freshet/bloom'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WriteIntervals } from './write-intervals.js'

const hash = hashUnder(7n)

function written(intervals: WriteIntervals, key: string, gapsMs: readonly number[], startMs = 0): number {
  let timeMs = startMs
  intervals.wrote(hash(key), timeMs)
  for (const gapMs of gapsMs) {
    timeMs += gapMs
    intervals.wrote(hash(key), timeMs)
  }
  return timeMs
}

describe('the interval between writes', () => {
  it('is unknown after one, and the first gap after two', () => {
    const intervals = new WriteIntervals(64)
    expect(intervals.intervalMs(hash('a'), 0)).toBeUndefined()
    written(intervals, 'a', [])
    expect(intervals.intervalMs(hash('a'), 0)).toBeUndefined()
    written(intervals, 'b', [5000])
    expect(intervals.intervalMs(hash('b'), 0)).toBeCloseTo(5000)
  })

  it('falls from a day to a minute within eight writes, and rises within a dozen', () => {
    const intervals = new WriteIntervals(64)
    const timeMs = written(intervals, 'a', [86_400_000, ...Array.from({ length: 8 }, () => 5000)])
    expect(intervals.intervalMs(hash('a'), timeMs)).toBeLessThan(60_000)
    const laterMs = written(
      intervals,
      'a',
      Array.from({ length: 12 }, () => 3_600_000),
      timeMs,
    )
    expect(intervals.intervalMs(hash('a'), laterMs)).toBeGreaterThan(1_800_000)
  })

  it('lies between the shortest and the longest gap, whatever was written in between', () => {
    const write = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), gapMs: fc.integer({ min: 0, max: 100_000 }) })
    fc.assert(
      fc.property(fc.array(write, { maxLength: 100, size: 'max' }), writes => {
        const intervals = new WriteIntervals(4)
        const model = new Map<string, { lastMs: number; gapsMs: number[] }>()
        let timeMs = 0
        for (const { key, gapMs } of writes) {
          timeMs += gapMs
          intervals.wrote(hash(key), timeMs)
          const known = model.get(key)
          if (known && timeMs > known.lastMs) known.gapsMs.push(timeMs - known.lastMs)
          model.set(key, { lastMs: timeMs, gapsMs: known?.gapsMs ?? [] })
        }
        for (const [key, { gapsMs }] of model) {
          const intervalMs = intervals.intervalMs(hash(key), timeMs)
          if (gapsMs.length === 0) expect(intervalMs).toBeUndefined()
          else {
            expect(intervalMs).toBeGreaterThanOrEqual(Math.min(...gapsMs) * 0.999_999)
            expect(intervalMs).toBeLessThanOrEqual(Math.max(...gapsMs) * 1.000_001)
          }
        }
      }),
    )
  })
})

describe('memory', () => {
  it('is the requested size, rounded up, and stays so', () => {
    const intervals = new WriteIntervals(1000)
    expect(intervals.sizeBytes).toBe(1024 * 28)
    for (let i = 0; i < 20_000; i++) written(intervals, `key ${i}`, [1], i)
    const known = Array.from({ length: 20_000 }, (_, i) => intervals.intervalMs(hash(`key ${i}`), 20_000))
    expect(known.filter(interval => interval !== undefined).length).toBeLessThanOrEqual(1024)
    expect(intervals.sizeBytes).toBe(1024 * 28)
  })

  it('keeps a key that is read while others are only written', () => {
    const intervals = new WriteIntervals(64)
    written(intervals, 'read', [500])
    written(intervals, 'not read', [500])
    for (let i = 0; i < 5000; i++) {
      const nowMs = 1000 + i
      intervals.wrote(hash(`flood ${i}`), nowMs)
      expect(intervals.intervalMs(hash('read'), nowMs)).toBeCloseTo(500)
    }
    expect(intervals.intervalMs(hash('not read'), 7000)).toBeUndefined()
  })
})
