import { decodeBloom, hashUnder } from '@freshet/bloom'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toHashSet } from './hash-set.js'
import { filterOf, MERGE_FACTOR, mergeSegments, type Segment } from './segment.js'

const SLOT_MS = 1000
const hash = hashUnder(1n)

function segment(from: number, to: number, newestMs: number): Segment {
  return { from, to, level: 0, newestMs, hashes: toHashSet([hash(`/db/a/b/${to}`)]) }
}

it('a filter has what is in the set, even if the set is empty', () => {
  const shape = { seed: 1n, falsePositiveRateMax: 0.001 }
  const filter = decodeBloom(filterOf(toHashSet([hash('/db/a/b/1')]), shape))
  expect(filter.has('/db/a/b/1')).toBe(true)
  expect(filter.has('/db/a/b/2')).toBe(false)
  expect(decodeBloom(filterOf(toHashSet([]), shape)).has('/db/a/b/1')).toBe(false)
})

it('merging leaves no hole, loses no path and makes nothing older', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(5000), { minLength: 1, maxLength: 60, size: 'max' }),
      fc.nat(100_000),
      fc.constantFrom(1000, 64_000, 600_000, 5_000_000),
      (waits, laterMs, windowMs) => {
        let timeMs = 0
        const segments = waits.map((wait, i) => {
          timeMs += wait
          return segment(i, i + 1, timeMs)
        })
        const merged = mergeSegments(segments, timeMs + laterMs, SLOT_MS, windowMs)
        expect(merged[0]!.from).toBe(0)
        expect(merged.at(-1)!.to).toBe(segments.length)
        merged.slice(1).forEach((next, i) => {
          expect(next.from).toBe(merged[i]!.to)
        })
        for (const { from, to, newestMs, hashes } of merged) {
          expect(hashes.length).toBe(to - from)
          expect(newestMs).toBe(segments[to - 1]!.newestMs)
        }
      },
    ),
  )
})

it('merging at every step or only once gives the same segments', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(3000), { minLength: 1, maxLength: 200, size: 'max' }), waits => {
      const windowMs = SLOT_MS * MERGE_FACTOR ** 4
      let timeMs = 0
      let stepwise: readonly Segment[] = []
      const all: Segment[] = []
      waits.forEach((wait, i) => {
        timeMs += SLOT_MS + wait
        all.push(segment(i, i + 1, timeMs))
        stepwise = mergeSegments([...stepwise, segment(i, i + 1, timeMs)], timeMs, SLOT_MS, windowMs)
      })
      const refs = (segments: readonly Segment[]) => segments.map(({ from, to, level }) => [from, to, level])
      expect(refs(mergeSegments(stepwise, timeMs, SLOT_MS, windowMs))).toEqual(
        refs(mergeSegments(all, timeMs, SLOT_MS, windowMs)),
      )
    }),
  )
})

it('a new reader has a few dozen segments to fetch, however long the window', () => {
  for (const windowMs of [60_000, 3_600_000, 24 * 3_600_000]) {
    let segments: readonly Segment[] = []
    for (let timeMs = 0; timeMs < windowMs; timeMs += SLOT_MS) {
      segments = [...segments, segment(timeMs, timeMs + SLOT_MS, timeMs)]
      if (timeMs % (SLOT_MS * 16) === 0) segments = mergeSegments(segments, timeMs, SLOT_MS, windowMs)
    }
    segments = mergeSegments(segments, windowMs, SLOT_MS, windowMs)
    expect(segments.length).toBeLessThanOrEqual(100)
  }
})
