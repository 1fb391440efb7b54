import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { ShardPart } from '../plan/index.js'
import { PartCache } from './part-cache.js'

const KEYS = Array.from({ length: 20 }, (_, i) => i)
const RANGE = fc
  .tuple(fc.nat({ max: 19 }), fc.nat({ max: 19 }))
  .map(([a, b]) => ({ low: Math.min(a, b), high: Math.max(a, b) }))

function part(range: ShardPart['range'], keySlot: number | undefined, family = 'f'): ShardPart {
  return { statement: { text: '', values: [] }, family, range, ...(keySlot === undefined ? {} : { keySlot }) }
}

/** What a shard would answer that has applied the log up to `applied`. */
function answer({ low, high }: ShardPart['range'], applied: number) {
  const rows = KEYS.filter(key => key >= low && key <= high).map(key => [`row ${key} of ${applied}`, `${key}`])
  return { types: ['text', 'integer'] as const, rows, versions: {}, applied, isChanging: false }
}

test('a part that is found equals the answer of the shard at the time, and is found for every range within the last one', () => {
  const asked = fc.record({ range: RANGE, family: fc.constantFrom('f', 'g'), shard: fc.constantFrom('a', 'b') })
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 20 }), fc.constantFrom(1, undefined), (asks, keySlot) => {
      const cache = new PartCache(1e6)
      for (const [i, { range, family, shard }] of asks.entries()) {
        const wanted = part(range, keySlot, family)
        const found = cache.find(shard, wanted)
        if (found) expect(found).toEqual(answer(range, found.applied))
        const kept = answer(range, i)
        cache.keep(shard, wanted, kept)
        expect(cache.find(shard, wanted)).toEqual(kept)
        const inner = { low: range.low, high: Math.max(range.low, range.high - 1) }
        const narrower = cache.find(shard, part(inner, keySlot, family))
        if (keySlot !== undefined) expect(narrower).toEqual(answer(inner, i))
      }
    }),
  )
})
