import { hashUnder } from '@freshet/bloom'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { formatHash, formatSeed, parseHash, parseSeed } from './change-hash.js'

it('hashes and seeds survive the wire', () => {
  fc.assert(
    fc.property(fc.string(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (path, seed) => {
      const hash = hashUnder(seed)(path)
      expect(parseHash(formatHash(hash))).toEqual(hash)
      expect(parseSeed(formatSeed(seed))).toBe(seed)
    }),
  )
})

it('has the form that other languages read: the high word first, 16 lower-case digits', () => {
  expect(formatHash({ low: 1, high: -1 })).toBe('ffffffff00000001')
  expect(formatSeed(0xfeedn)).toBe('000000000000feed')
})

it('anything else is undefined', () => {
  for (const text of ['', 'feed', 'FFFFFFFF00000001', '0x00000000000001', 'ffffffff000000011', 'ffffffff0000000g']) {
    expect(parseHash(text)).toBeUndefined()
    expect(parseSeed(text)).toBeUndefined()
  }
})
