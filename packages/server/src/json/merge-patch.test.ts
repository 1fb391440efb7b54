import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJsonTree, readJsonObject } from './json-text.js'
import { mergePatch } from './merge-patch.js'

/** RFC 7396, section 2, literally. */
function naive(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const result = new Map(isObject ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, naive(result.get(name), value))
  }
  return Object.fromEntries(result)
}

/** With only a few names, so that members coincide. */
const json = fc.letrec(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, -1.5e10, '', 'a"b\\', '{"a":[', 'é\u2028'),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c"', 'é', '', 'toString'), tie('value'), { maxKeys: 4 }),
}))
const spaces = fc.constantFrom(undefined, 1, '\t')

describe('a merge patch', () => {
  test('does what RFC 7396 says', () => {
    fc.assert(
      fc.property(json.object, json.object, spaces, spaces, (target, patch, spaceA, spaceB) => {
        const merged = mergePatch(JSON.stringify(target, null, spaceA), JSON.stringify(patch, null, spaceB))
        expect(JSON.parse(merged)).toEqual(naive(target, patch))
      }),
      { numRuns: 3000 },
    )
  })

  test('leaves members that it does not name as they were written', () => {
    expect(mergePatch('{"n": 1.00, "a" : {"x":1e400 , "y":2}}', '{"a":{"y":3}}')).toBe(
      '{"n":1.00,"a":{"x":1e400,"y":3}}',
    )
  })

  test('cannot change prototypes', () => {
    const merged = mergePatch('{}', '{"__proto__":{"polluted":true},"constructor":1}')
    expect(merged).toBe('{"__proto__":{"polluted":true},"constructor":1}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('JSON as text', () => {
  test('is parsed into what JSON.parse finds in it', () => {
    fc.assert(
      fc.property(json.value, spaces, (value, space) => {
        const read = (node: ReturnType<typeof parseJsonTree>): unknown => {
          if (node.members) return Object.fromEntries([...node.members].map(([name, member]) => [name, read(member)]))
          return node.elements ? node.elements.map(read) : JSON.parse(node.text)
        }
        const text = JSON.stringify(value, null, space)
        expect(read(parseJsonTree(text))).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('is parsed no deeper than requested', () => {
    fc.assert(
      fc.property(json.value, spaces, fc.nat({ max: 3 }), (value, space, levels) => {
        const read = (node: ReturnType<typeof parseJsonTree>): unknown => {
          if (node.members) return Object.fromEntries([...node.members].map(([name, member]) => [name, read(member)]))
          return node.elements ? node.elements.map(read) : JSON.parse(node.text)
        }
        const text = JSON.stringify([value, 1, value], null, space)
        expect(read(parseJsonTree(text, levels))).toEqual(JSON.parse(text))
        expect(parseJsonTree(text, levels).elements === undefined).toBe(levels === 0)
      }),
      { numRuns: 1000 },
    )
  })

  test('is accepted up to the allowed depth, and brackets in strings do not count', () => {
    const limits = { jsonDepthMax: 5, jsonMembersMax: 10 }
    const nested = (depth: number) => Buffer.from(`${'{"a":'.repeat(depth)}"[[[[{{{\\"["${'}'.repeat(depth)}`)
    expect(() => readJsonObject(nested(5), limits)).not.toThrow()
    expect(() => readJsonObject(nested(6), limits)).toThrow('deeper than 5')
  })
})
