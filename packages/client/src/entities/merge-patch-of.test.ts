import fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergePatchOf } from './merge-patch-of.js'

type Json = Record<string, unknown>

/** RFC 7396, section 2. */
function apply(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch
  const result = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, apply(result.get(name), value))
  }
  return Object.fromEntries(result)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const objects = fc.letrec<{ value: unknown; object: Json }>(tie => ({
  value: fc.oneof(fc.integer({ max: 2 }), fc.constant(null), fc.array(tie('value'), { maxLength: 2 }), tie('object')),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'constructor'), tie('value'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
})).object

test('applied to the one, the patch gives the other, or there is none', () => {
  let patches = 0
  fc.assert(
    fc.property(objects, objects, (before, after) => {
      const patch = mergePatchOf(before, after)
      if (patch === undefined) return
      patches++
      expect(apply(before, patch)).toEqual(after)
    }),
    { numRuns: 2000 },
  )
  expect(patches).toBeGreaterThan(500)
})
