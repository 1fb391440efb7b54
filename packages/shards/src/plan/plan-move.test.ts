import fc from 'fast-check'
import { expect, test } from 'vitest'
import { moveOf, stretchLeft } from './plan-move.js'
import { type PlacedShard, placedMap, rangeOfShard } from './shard-map.js'
import { MAP_WITHOUT_SHARDS } from './under-test/map-without-shards.js'

function ownerOf(placed: readonly PlacedShard[], key: number): string {
  const map = placedMap(MAP_WITHOUT_SHARDS, placed)
  return map.shards.find((_, i) => rangeOfShard(map, i).low <= key && key <= rangeOfShard(map, i).high)!
}

test('each move takes exactly the keys of its stretch to the new shard, until that has all keys from its first one on', () => {
  const shards = fc.uniqueArray(fc.nat({ max: 50 }), { minLength: 1, maxLength: 4 }).map(from => {
    return from.sort((a, b) => a - b).map((from, i) => ({ name: `s${i}`, from }))
  })
  fc.assert(
    fc.property(shards, fc.nat({ max: 60 }), fc.array(fc.nat({ max: 30 })), (initial, at, steps) => {
      const wish = { name: 'new', at }
      fc.pre(!initial.some(({ from }) => from === at) && initial[0]!.from < at)
      let placed: readonly PlacedShard[] = initial
      for (let i = 0; ; i++) {
        const stretch = stretchLeft(placed, wish)
        if (stretch === undefined) break
        const low = Math.max(stretch.low, (stretch.high ?? 70) - 1 - (steps[i] ?? 1000))
        const move = moveOf(placed, wish, stretch, low)
        for (let key = 0; key <= 80; key++) {
          const isMoved = key >= low && (move.high === null || key < move.high)
          if (isMoved) expect(ownerOf(placed, key)).toBe(move.from)
          expect(ownerOf(move.placed, key)).toBe(isMoved ? 'new' : ownerOf(placed, key))
        }
        placed = move.placed
      }
      const end = initial.find(({ from }) => from > at)?.from ?? 81
      for (let key = 0; key <= 80; key++)
        expect(ownerOf(placed, key)).toBe(key >= at && key < end ? 'new' : ownerOf(initial, key))
    }),
  )
})

test.each([
  ['x', 10, /already begins at 10/],
  ['x', 0, /not a key within a shard/],
  ['x', -5, /not a key within a shard/],
  ['a', 5, /the first shard/],
])('giving %s the keys from %i on is refused', (name, at, reason) => {
  const placed = [
    { name: 'a', from: 0 },
    { name: 'b', from: 10 },
  ]
  expect(() => stretchLeft(placed, { name, at })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(reason) }),
  )
})
