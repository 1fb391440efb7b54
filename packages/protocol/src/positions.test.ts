import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatEtag, parseEtag, parsePosition, readPosition } from './positions.js'

const position = fc.maxSafeNat()

test('a position has one spelling', () => {
  fc.assert(fc.property(position, value => parsePosition(`${value}`) === value))
  fc.assert(
    fc.property(fc.string(), text => {
      const value = parsePosition(text)
      if (value !== undefined) expect(`${value}`).toBe(text)
    }),
  )
  for (const bad of ['', '-1', '+1', '01', '1.0', '1e3', ' 1', '0x1', '9007199254740992', '99999999999999999']) {
    expect(parsePosition(bad)).toBeUndefined()
  }
})

test('a parameter that is not a position is refused by name', () => {
  expect(readPosition('at', '7')).toBe(7)
  expect(() => readPosition('at', 'x')).toThrow(
    expect.objectContaining({ code: 'PARAMETER_INVALID', message: expect.stringMatching(/^at must/) }),
  )
})

test('an ETag parses to its version, compressed or not, weak or not', () => {
  fc.assert(
    fc.property(position, fc.constantFrom(undefined, 'br', 'gzip'), fc.boolean(), (version, coding, isWeak) => {
      const etag = formatEtag(version, coding as 'br' | undefined)
      expect(parseEtag(isWeak ? `W/${etag}` : etag)).toBe(version)
    }),
  )
})

test('each compressed form has its own ETag', () => {
  expect(new Set([formatEtag(5), formatEtag(5, 'br'), formatEtag(5, 'gzip'), formatEtag(55)]).size).toBe(4)
})

test('an ETag of another program has no version', () => {
  for (const foreign of ['', '5', '"abc"', '"5', '"5-zstd"', '"-5"', '"05"', 'w/"5"', '"5", "6"', '*'])
    expect(parseEtag(foreign)).toBeUndefined()
})
