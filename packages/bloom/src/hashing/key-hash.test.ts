import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hashKey, type Key, keyHash } from './key-hash.js'

const SEED_LOW = 0x03020100
const SEED_HIGH = 0x07060504

describe('the key hash', () => {
  it("is the Linux kernel's hsiphash in its first word", () => {
    // HalfSipHash-1-3 of the bytes 00, 00 01, 00 01 02, ... under the key 00 01 .. 07.
    const published = [
      0x5814c896, 0xe7e864ca, 0xbc4b0e30, 0x01539939, 0x7e059ea6, 0x88e3d89b, 0xa0080b65, 0x9d38d9d6, 0x577999b1,
      0xc839caed, 0xe4fa32cf, 0x959246ee, 0x6b28096c, 0x66dd9cd6, 0x16658a7c, 0xd0257b04, 0x8b31d501,
    ]
    const bytes = Uint8Array.from({ length: published.length }, (_, i) => i)
    const ours = published.map((_, length) => hashOf(bytes.subarray(0, length), SEED_LOW, SEED_HIGH)[0]! >>> 0)
    expect(ours).toEqual(published)
  })

  it('equals a naive implementation for any bytes, length and seed', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 70 }), fc.integer(), fc.integer(), (bytes, low, high) => {
        expect(hashOf(bytes, low, high)).toEqual(naiveHash(bytes, low, high))
      }),
    )
  })

  it('is the same for a string and for its UTF-8 bytes, whatever the text and its length', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary-ascii', maxLength: 60 }),
      fc.string({ unit: 'binary', maxLength: 60 }),
      // Any 16-bit units, so that lone surrogates come up.
      fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 }).map(units => String.fromCharCode(...units)),
    )
    fc.assert(
      fc.property(texts, fc.integer(), (text, seed) => {
        expect(hashOf(text, seed, 5)).toEqual(hashOf(new TextEncoder().encode(text), seed, 5))
      }),
      { numRuns: 2000 },
    )
  })

  it('is the same for a string and for its UTF-8 bytes at every length where the way of reading changes', () => {
    for (const length of [0, 1, 3, 4, 5, 23, 24, 25, 1364, 1365, 1366, 4095, 4096, 4097, 20_000]) {
      for (const unit of ['a', 'é', 'λ', '漢', '🦆']) {
        const text = unit.repeat(length)
        expect(hashOf(text, 1, 2), `${length} times ${unit}`).toEqual(hashOf(new TextEncoder().encode(text), 1, 2))
      }
    }
  })

  it('does not depend on the keys hashed before', () => {
    const before = hashOf('short', 1, 2)
    hashOf('x'.repeat(5000), 1, 2)
    hashOf('a much longer key with ünïcödé in it, to dirty the scratch', 1, 2)
    expect(hashOf('short', 1, 2)).toEqual(before)
  })

  it('reads bytes at any offset of their buffer', () => {
    const buffer = new TextEncoder().encode('..../db/shop/products/42')
    expect(hashOf(buffer.subarray(4), 1, 2)).toEqual(hashOf('/db/shop/products/42', 1, 2))
    expect(hashOf(buffer.subarray(5), 1, 2)).toEqual(hashOf('db/shop/products/42', 1, 2))
  })

  it('changes half of its bits when one bit of the key or of the seed changes', () => {
    const flips: number[] = []
    for (let i = 0; i < 2000; i++) {
      const key = new TextEncoder().encode(`/db/shop/products/${i}`)
      const other = key.slice()
      other[i % key.length]! ^= 1 << (i % 8)
      flips.push(differingBits(hashOf(key, 1, 2), hashOf(other, 1, 2)))
      flips.push(differingBits(hashOf(key, 1, 2), hashOf(key, 1 ^ (1 << (i % 32)), 2)))
    }
    const mean = flips.reduce((sum, n) => sum + n, 0) / flips.length
    // 4,000 samples of mean 32 and standard deviation 4: five standard errors are 0.32.
    expect(Math.abs(mean - 32)).toBeLessThan(0.32)
  })

  it.each([undefined, null, 42, {}, ['a'], Symbol('s'), Object.create(null)])(
    'refuses %s as a key and says what to pass',
    key => {
      expect(() => hashKey(key as unknown as Key, 1, 2)).toThrow(
        expect.objectContaining({
          code: 'FILTER_KEY_INVALID',
          message: expect.stringContaining('string or a Uint8Array'),
        }),
      )
    },
  )
})

function hashOf(key: Key, low: number, high: number): number[] {
  hashKey(key, low, high)
  return [...keyHash]
}

function differingBits(a: number[], b: number[]): number {
  return a.reduce((sum, word, i) => sum + ((word ^ b[i]!) >>> 0).toString(2).replaceAll('0', '').length, 0)
}

/** HalfSipHash-1-3 written for reading, on an array of four words. */
function naiveHash(bytes: Uint8Array, low: number, high: number): number[] {
  const v = Int32Array.of(low, high, 0x6c796765 ^ low, 0x74656462 ^ high)
  const rotate = (x: number, n: number) => (x << n) | (x >>> (32 - n))
  const round = () => {
    v[0]! += v[1]!
    v[1] = rotate(v[1]!, 5) ^ v[0]!
    v[0] = rotate(v[0]!, 16)
    v[2]! += v[3]!
    v[3] = rotate(v[3]!, 8) ^ v[2]!
    v[0]! += v[3]!
    v[3] = rotate(v[3]!, 7) ^ v[0]!
    v[2]! += v[1]!
    v[1] = rotate(v[1]!, 13) ^ v[2]!
    v[2] = rotate(v[2]!, 16)
  }
  const padded = new Uint8Array((bytes.length & ~3) + 4)
  padded.set(bytes)
  padded[padded.length - 1] = bytes.length
  const view = new DataView(padded.buffer)
  for (let at = 0; at < padded.length; at += 4) {
    v[3]! ^= view.getInt32(at, true)
    round()
    v[0]! ^= view.getInt32(at, true)
  }
  v[2]! ^= 0xff
  round()
  round()
  round()
  return [v[1]! ^ v[3]!, v[0]! ^ v[2]!]
}
