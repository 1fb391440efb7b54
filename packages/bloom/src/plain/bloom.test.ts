import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type BloomOptions, createBloom } from './bloom.js'
import { keyIndexes } from './key-indexes.js'
import { expectedRate, sizeFor } from './sizing.js'

describe('the size of a filter', () => {
  it('is within 5% of the least possible, and the rate at the last entry is the requested one', () => {
    for (const rate of [0.5, 0.1, 0.01, 0.001, 1e-6, 1e-9]) {
      const size = sizeFor(100_000, rate)
      const bitsLeast = (-100_000 * Math.log(rate)) / Math.LN2 ** 2
      expect(size.bits).toBeLessThan(bitsLeast * 1.051)
      expect(expectedRate(size, 100_000)).toBeLessThanOrEqual(rate)
    }
  })

  it('takes fewer hashes than the optimum where that is nearly free', () => {
    expect(sizeFor(1_000_000, 0.01)).toMatchObject({ hashes: 5 })
    expect(sizeFor(1_000_000, 0.001)).toMatchObject({ hashes: 7 })
  })
})

describe('a Bloom filter', () => {
  it('has every key that was added, text or bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.uint8Array()), { maxLength: 200 }), keys => {
        const filter = createBloom({ entriesMax: 50, falsePositiveRateMax: 0.1, seed: 9n })
        filter.addAll(keys)
        for (const key of keys) expect(filter.has(key)).toBe(true)
        expect(filter.count).toBe(keys.length)
      }),
    )
  })

  it.each([0.05, 0.01, 0.001])('has the error rate of the theory at a target of %s', target => {
    const entries = 100_000
    const filter = createBloom({ entriesMax: entries, falsePositiveRateMax: target, seed: 0x5eedn })
    for (let i = 0; i < entries; i++) filter.add(`/db/shop/products/${i}`)
    const probes = 1_000_000
    let wrong = 0
    for (let i = 0; i < probes; i++) if (filter.has(`/db/shop/absent/${i}`)) wrong++
    const theory = expectedRate(filter, entries)
    const sigma = Math.sqrt((theory * (1 - theory)) / probes)
    expect(Math.abs(wrong / probes - theory)).toBeLessThan(0.03 * theory + 3 * sigma)
    expect(Math.abs(filter.estimatedRate() / theory - 1)).toBeLessThan(0.05)
    expect(Math.abs(filter.estimatedCount() / entries - 1)).toBeLessThan(0.02)
  })

  it('sets other bits under another seed', () => {
    const size = { bits: 100_000, hashes: 5 }
    expect(keyIndexes('a', { ...size, seed: 1n })).not.toEqual(keyIndexes('a', { ...size, seed: 2n }))
    expect(keyIndexes('a', { ...size, seed: 1n })).not.toEqual(keyIndexes('a', { ...size, seed: 1n << 32n }))
  })

  it('is not misled by keys that collide under another seed', () => {
    const target = createBloom({ bits: 4096, hashes: 4, seed: 1n })
    for (let i = 0; i < 600; i++) target.add(`member ${i}`)
    const crafted: string[] = []
    for (let i = 0; crafted.length < 500; i++) if (target.has(`crafted ${i}`)) crafted.push(`crafted ${i}`)
    const reseeded = createBloom({ bits: 4096, hashes: 4, seed: 2n })
    for (let i = 0; i < 600; i++) reseeded.add(`member ${i}`)
    const fooled = crafted.filter(key => reseeded.has(key)).length
    // All 500 fool the filter whose seed is known; under another seed they are like any other keys.
    expect(fooled).toBeLessThan(500 * reseeded.estimatedRate() + 5 * Math.sqrt(500 * reseeded.estimatedRate()))
  })

  it('unites and intersects like sets', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 3, maxLength: 60 }), keys => {
        const third = Math.ceil(keys.length / 3)
        const left = createBloom({ bits: 2048, hashes: 3 })
        const right = createBloom({ bits: 2048, hashes: 3 })
        left.addAll(keys.slice(0, 2 * third))
        right.addAll(keys.slice(third))
        const union = left.union(right)
        const both = left.intersect(right)
        for (const key of keys) expect(union.has(key)).toBe(true)
        for (const key of keys.slice(third, 2 * third)) expect(both.has(key)).toBe(true)
        const direct = createBloom({ bits: 2048, hashes: 3 })
        direct.addAll(keys)
        expect(union.words).toEqual(direct.words)
      }),
    )
  })

  it('folds into the same filter as the smaller one built directly', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 999 }), fc.array(fc.string(), { maxLength: 80 }), (half, keys) => {
        const large = createBloom({ bits: 2 * half, hashes: 5, seed: 3n })
        const small = createBloom({ bits: half, hashes: 5, seed: 3n })
        large.addAll(keys)
        small.addAll(keys)
        expect(large.fold().words).toEqual(small.words)
      }),
    )
  })

  it('keeps a clone apart, and forgets everything when cleared', () => {
    const filter = createBloom({ entriesMax: 10, falsePositiveRateMax: 0.01 })
    filter.add('a')
    const clone = filter.clone()
    filter.clear()
    expect([filter.has('a'), filter.count, filter.fillRatio()]).toEqual([false, 0, 0])
    expect([clone.has('a'), clone.count]).toEqual([true, 1])
  })

  it.each<[unknown, string]>([
    [undefined, 'entriesMax'],
    [{}, 'entriesMax'],
    [{ entriesMax: 10 }, 'falsePositiveRateMax'],
    [{ entriesMax: 0, falsePositiveRateMax: 0.01 }, '1 or more'],
    [{ entriesMax: Number.NaN, falsePositiveRateMax: 0.01 }, '1 or more'],
    [{ entriesMax: 10, falsePositiveRateMax: 2 }, 'between 0 and 1'],
    [{ entriesMax: 10, falsePositiveRateMax: 0 }, 'between 0 and 1'],
    [{ entriesMax: 1e12, falsePositiveRateMax: 0.01 }, 'fewer entries'],
    [{ bits: 1.5, hashes: 3 }, 'whole number'],
    [{ bits: 2 ** 32 + 1, hashes: 3 }, '4294967296'],
    [{ bits: 64, hashes: 0 }, 'hashes'],
    [{ bits: 64, hashes: 65 }, '64'],
    [{ bits: 64, hashes: 3, seed: 1 }, 'bigint'],
    [{ bits: 64, hashes: 3, seed: -1n }, 'bigint'],
  ])('refuses %o and says what to pass', (options, words) => {
    expect(() => createBloom(options as BloomOptions)).toThrow(
      expect.objectContaining({ code: 'FILTER_OPTIONS_INVALID', message: expect.stringContaining(words) }),
    )
  })

  it('refuses to unite filters of another shape or seed, and to fold an odd number of bits', () => {
    const filter = createBloom({ bits: 65, hashes: 3, seed: 1n })
    expect(() => filter.union(createBloom({ bits: 65, hashes: 3, seed: 2n }))).toThrow(
      expect.objectContaining({ code: 'FILTER_MISMATCH', message: expect.stringContaining('seed 0x2') }),
    )
    expect(() => filter.intersect(createBloom({ bits: 64, hashes: 3, seed: 1n }))).toThrow(
      expect.objectContaining({ code: 'FILTER_MISMATCH' }),
    )
    expect(() => filter.fold()).toThrow(expect.objectContaining({ code: 'FILTER_NOT_FOLDABLE' }))
  })
})
