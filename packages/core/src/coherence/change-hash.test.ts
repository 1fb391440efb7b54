import { hashUnder } from '@freshet/bloom'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CHANGE_HASH_BITS, changeHashOf, formatSeed, parseSeed } from './change-hash.js'

it('seeds survive the wire', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), seed => {
      expect(parseSeed(formatSeed(seed))).toBe(seed)
    }),
  )
})

it('has the form that clients in other languages read: 16 lower-case digits', () => {
  expect(formatSeed(0xfeedn)).toBe('000000000000feed')
})

it('anything else is undefined', () => {
  for (const text of ['', 'feed', 'FFFFFFFF00000001', '0x00000000000001', 'ffffffff000000011', 'ffffffff0000000g']) {
    expect(parseSeed(text)).toBeUndefined()
  }
})

it('is the first bits of the low word, as clients in other languages compute it', () => {
  expect(changeHashOf({ low: -1, high: 0 })).toBe(2 ** CHANGE_HASH_BITS - 1)
  expect(changeHashOf({ low: 0x1234_5678, high: 0 })).toBe(0x12345)
})

it('collides for one path in a thousand, if a thousand have changed', () => {
  const hash = hashUnder(7n)
  const hashOf = (id: number) => changeHashOf(hash(`/db/shop/products/${id}`))
  const changed = new Set(Array.from({ length: 1000 }, (_, id) => hashOf(id)))
  const met = Array.from({ length: 100_000 }, (_, id) => hashOf(1_000_000 + id)).filter(each => changed.has(each))
  expect(met.length / 100_000).toBeLessThan(0.0015)
})
