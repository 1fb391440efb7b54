import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergePatch, mergePatchOf } from './merge-patch.js'

type Json = Record<string, unknown>

const objects = fc.letrec<{ value: unknown; object: Json }>(tie => ({
  value: fc.oneof(fc.integer({ max: 2 }), fc.constant(null), fc.array(tie('value'), { maxLength: 2 }), tie('object')),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
})).object

test.each<[Json, Json, Json]>([
  [
    { a: 'b', c: { d: 'e', f: 'g' } },
    { a: 'z', c: { f: null } },
    { a: 'z', c: { d: 'e' } },
  ],
  [{ a: [{ b: 'c' }] }, { a: [1, null] }, { a: [1, null] }],
  [{ a: 'c' }, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  [{ e: null }, { a: 1, b: null }, { e: null, a: 1 }],
])('%j with the patch %j is %j', (target, patch, result) => {
  expect(mergePatch(target, patch)).toEqual(result)
})

test('applied to the first object, the patch gives the second, or there is no patch', () => {
  let patches = 0
  fc.assert(
    fc.property(objects, objects, (before, after) => {
      const patch = mergePatchOf(before, after)
      if (patch === undefined) return
      patches++
      expect(mergePatch(before, patch)).toEqual(after)
    }),
    { numRuns: 2000 },
  )
  expect(patches).toBeGreaterThan(500)
})
