import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OwnedRange } from './owned-range.js'
import { distance, isWithin, positionOfKey, positionOfPeer, RING_SIZE } from './ring.js'

const position = fc.oneof(fc.nat({ max: 5 }), fc.integer({ min: RING_SIZE - 5, max: RING_SIZE - 1 }), fc.nat())

test('a position is within a range exactly if a clockwise walk meets it before the end', () => {
  fc.assert(
    fc.property(position, position, position, (at, after, upTo) => {
      if (after === upTo) expect(isWithin(at, after, upTo)).toBe(true)
      else if (after < upTo) expect(isWithin(at, after, upTo)).toBe(at > after && at <= upTo)
      else expect(isWithin(at, after, upTo)).toBe(at > after || at <= upTo)
      expect((after + distance(after, at)) % RING_SIZE).toBe(at)
    }),
  )
})

test('peers and keys are spread evenly, and the hash functions of one key are independent', () => {
  const parts = (positions: number[]) => {
    const counts = new Array<number>(16).fill(0)
    for (const each of positions) counts[Math.floor((each / RING_SIZE) * 16)]!++
    return counts
  }
  const many = Array.from({ length: 16_000 }, (_, i) => i)
  const sequences = [
    many.map(positionOfPeer),
    many.map(i => positionOfPeer(2 ** 40 + i)),
    many.map(i => positionOfKey(`key/${i}`, 0)),
    many.map(i => positionOfKey('key', i)),
    many.map(i => distance(positionOfKey(`key/${i}`, 1), positionOfKey(`key/${i}`, 2))),
  ]
  for (const positions of sequences) {
    for (const count of parts(positions)) {
      // 1000 are expected; six standard deviations.
      expect(count).toBeGreaterThan(810)
      expect(count).toBeLessThan(1190)
    }
    expect(new Set(positions).size).toBe(positions.length)
  }
})

test('a peer knows since when it has been responsible for each position, whichever peers came and went', () => {
  const SIZE = 40
  const scale = RING_SIZE / SIZE
  const own = 7
  fc.assert(
    fc.property(fc.array(fc.nat({ max: SIZE - 1 }), { minLength: 1, maxLength: 5 }), predecessors => {
      const range = new OwnedRange(own * scale)
      const since = new Map<number, number>()
      predecessors.forEach((after, nowMs) => {
        range.set(after * scale, nowMs)
        for (let at = 0; at < SIZE; at++) {
          const isOwn = isWithin(at * scale, after * scale, own * scale)
          if (!isOwn) since.delete(at)
          else if (!since.has(at)) since.set(at, nowMs)
        }
      })
      for (let at = 0; at < SIZE; at++) {
        expect(range.sinceMs(at * scale)).toBe(since.get(at) ?? Number.POSITIVE_INFINITY)
      }
    }),
  )
})
