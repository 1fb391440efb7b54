import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJson, readMembers } from './json-text.js'

const read = (text: string, membersMax?: number) => readJson(Buffer.from(text), 10, membersMax)

test.each([
  ['{"a":1,"a":1}', 'a'],
  ['{"owner":"ann","o\\u0077ner":"bob"}', 'owner'],
  ['[{"a":{"b":[{"c":1,"d":":","c":2}]}}]', 'c'],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['{"":1,"":2}', ''],
])('%s is refused, because an object has a member twice', (text, name) => {
  expect(() => read(text)).toThrow(`the member ${JSON.stringify(name)} twice`)
})

test('no other JSON is refused, whatever its names and texts', () => {
  const names = fc.constantFrom('a', 'b', ':', '"', '\\', ',', '{', '__proto__', 'constructor', '1')
  const value = fc.letrec(tie => ({
    any: fc.oneof(
      { depthSize: 'small', maxDepth: 8 },
      fc.constantFrom(1, 'a:b', ':"', null, true),
      fc.array(tie('any'), { maxLength: 3 }),
      fc.dictionary(names, tie('any'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).any
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 2), (any, space) => {
      const text = JSON.stringify(any, null, space)
      expect(read(text)).toBe(text)
    }),
  )
})

test('members and elements are counted together', () => {
  expect(read('{"a":[1,2],"b":{"c":3}}', 6)).toBeDefined()
  expect(() => read('{"a":[1,2],"b":{"c":3}}', 4)).toThrow('more than 4 members and elements')
  expect(() => readMembers(Buffer.from(`{"a":[${'1,'.repeat(250_000)}1]}`), 3)).toThrow('members')
})
