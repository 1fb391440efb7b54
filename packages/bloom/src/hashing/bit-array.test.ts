import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { countBits, foldBits, indexScale, setBits, testBits, writeIndexes } from './bit-array.js'

const anyBits = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 2 ** 32 }))

describe('indexes', () => {
  it('lie below the number of bits, for any size and hash', () => {
    fc.assert(
      fc.property(anyBits, fc.integer(), fc.integer(), (bits, h0, h1) => {
        for (const index of indexesOf(bits, h0, h1, 12)) expect(index).toBeLessThan(bits)
      }),
    )
  })

  it('are halved when the filter is, as folding requires, up to the largest filter', () => {
    fc.assert(
      fc.property(anyBits, fc.integer(), fc.integer(), (half, h0, h1) => {
        fc.pre(half <= 2 ** 31)
        const whole = indexesOf(2 * half, h0, h1, 12)
        expect([...indexesOf(half, h0, h1, 12)]).toEqual([...whole].map(index => Math.floor(index / 2)))
      }),
      { numRuns: 5000 },
    )
  })

  it('are the bits that are set and tested', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 500 }), fc.integer(), fc.integer(), (bits, h0, h1) => {
        const words = new Int32Array(16)
        setBits(words, indexScale(bits), 7, h0, h1)
        const indexes = new Set(indexesOf(bits, h0, h1, 7))
        for (let i = 0; i < 512; i++) expect((words[i >> 5]! >>> i) & 1).toBe(indexes.has(i) ? 1 : 0)
        expect(testBits(words, indexScale(bits), 7, h0, h1)).toBe(true)
        const [first] = indexes
        words[first! >> 5]! ^= 1 << first!
        expect(testBits(words, indexScale(bits), 7, h0, h1)).toBe(false)
      }),
    )
  })
})

describe('words', () => {
  const anyWords = fc.array(fc.integer(), { maxLength: 20 }).map(words => Int32Array.from(words))

  it('are counted bit by bit', () => {
    fc.assert(
      fc.property(anyWords, words => {
        const naive = [...words].reduce((sum, w) => sum + (w >>> 0).toString(2).replaceAll('0', '').length, 0)
        expect(countBits(words)).toBe(naive)
      }),
    )
  })

  it('fold neighbour into neighbour', () => {
    fc.assert(
      fc.property(anyWords, words => {
        const folded = foldBits(words)
        const bit = (of: Int32Array, i: number) => ((of[i >> 5] ?? 0) >>> (i & 31)) & 1
        for (let i = 0; i < folded.length * 32; i++)
          expect(bit(folded, i)).toBe(bit(words, 2 * i) | bit(words, 2 * i + 1))
      }),
    )
  })
})

function indexesOf(bits: number, h0: number, h1: number, hashes: number): Uint32Array {
  const indexes = new Uint32Array(hashes)
  writeIndexes(indexes, indexScale(bits), h0, h1)
  return indexes
}
