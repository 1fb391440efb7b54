import { expect, test } from 'vitest'
import { inexactNumber, isExactNumber } from './exact-number.js'

test('a number is exact if a double prints it again, and a whole number up to 2^53', () => {
  for (const text of [
    '0',
    '-0',
    '7',
    '0.1',
    '1.50',
    '1e3',
    '0.00',
    '9007199254740991',
    '123456.789',
    '1.5e-7',
    '5e-324',
  ])
    expect(isExactNumber(text), text).toBe(true)
  for (const text of [
    ...['9007199254740992', '9007199254740993', '12345678901234567890', '1e21', '1e400', '1e-400'],
    ...['0.1000000000000000001', '12345678901234567.89', '1.00000000000000000001', '-9007199254740993'],
  ])
    expect(isExactNumber(text), text).toBe(false)
})

test('digits in strings are not numbers', () => {
  expect(inexactNumber('{"12345678901234567890":"12345678901234567890 \\" 12345678901234567890"}')).toBeUndefined()
  expect(inexactNumber('{"a":["x",{"b":-12345678901234567890}]}')).toBe('-12345678901234567890')
  expect(inexactNumber('[1,true,null,"é"]')).toBeUndefined()
})
