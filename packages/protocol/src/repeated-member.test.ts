import fc from 'fast-check'
import { expect, test } from 'vitest'
import { repeatedMember } from './repeated-member.js'

test.each([
  ['{"a":1,"a":1}', 'a'],
  ['{"from":0,"fr\\u006fm" : 1}', 'from'],
  ['[{"a":{"b":[{"c":1,"d":"}:","c":2}]}}]', 'c'],
  ['{"":1,"":2}', ''],
])('%s has a member twice', (text, name) => {
  expect(repeatedMember(text)).toBe(name)
})

test('text from JSON.stringify never has one, whatever its names and strings are', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, space) => {
      expect(repeatedMember(JSON.stringify(value, null, space))).toBeUndefined()
    }),
  )
})
