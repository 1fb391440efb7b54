import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createBloom } from '../plain/bloom.js'
import { hashUnder } from './hash-under.js'

const seeds = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n })

describe('a hash by itself', () => {
  it('is two signed 32-bit integers, the same each time, and the same for text and its bytes', () => {
    fc.assert(
      fc.property(fc.string(), seeds, (key, seed) => {
        const { low, high } = hashUnder(seed)(key)
        expect([low | 0, high | 0]).toEqual([low, high])
        expect(hashUnder(seed)(new TextEncoder().encode(key))).toEqual({ low, high })
      }),
    )
  })

  it('does not change when other keys are hashed after it', () => {
    const hash = hashUnder(7n)
    const first = hash('a')
    hash('b')
    expect(first).toEqual(hash('a'))
    expect(first).not.toEqual(hash('b'))
    expect(first).not.toEqual(hashUnder(8n)('a'))
  })

  it('refuses a seed of more than 64 bits', () => {
    expect(() => hashUnder(2n ** 64n)).toThrow()
  })

  it('adds and finds the same as the key itself', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 50 }), fc.array(fc.string()), seeds, (keys, others, seed) => {
        const hash = hashUnder(seed)
        const [byKey, byHash] = [0, 1].map(() => createBloom({ entriesMax: 50, falsePositiveRateMax: 0.1, seed }))
        for (const key of keys) {
          const { low, high } = hash(key)
          byKey!.add(key)
          byHash!.addHash(low, high)
        }
        expect(byHash!.words).toEqual(byKey!.words)
        expect(byHash!.count).toBe(keys.length)
        for (const key of [...keys, ...others]) {
          const { low, high } = hash(key)
          expect(byKey!.hasHash(low, high)).toBe(byKey!.has(key))
        }
      }),
    )
  })
})
