import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseExact, parseUnrounded } from './exact-json.js'

test('without JSON.rawJSON a number that would be rounded is refused, and named', () => {
  for (const number of ['12345678901234567890', '-0.12345678901234567', '1e400', '1e-400', '9007199254740993']) {
    expect(() => parseUnrounded(`{"a":"1e400","n":[1,${number}]}`)).toThrow(`would round ${number},`)
  }
})

test('numbers that JavaScript keeps are accepted, and so are strings with any numbers', () => {
  const text = '{"a":"12345678901234567890 \\" 1e400","b":[0,-1.50,1e21,0.000012],"12345678901234567890":true}'
  expect(parseUnrounded(text)).toEqual(JSON.parse(text))
})

test('no number is changed silently', () => {
  const digits = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 25 }).map(each => each.join(''))
  const number = fc.tuple(fc.constantFrom('', '-'), digits).map(([sign, text]) => `${sign}${BigInt(text)}`)
  fc.assert(
    fc.property(number, fc.constantFrom(parseExact, parseUnrounded), (text, parse) => {
      let kept: string
      try {
        kept = JSON.stringify(parse(text))
      } catch (error) {
        expect(`${error}`).toContain(text)
        return
      }
      expect(BigInt(kept)).toBe(BigInt(text))
    }),
  )
})
