import { describe, expect, it } from 'vitest'
import { createBloom } from '../plain/bloom.js'
import { type CounterBits, createCountingBloom } from './counting-bloom.js'

describe('a counting filter', () => {
  it('forgets a key exactly when it was removed as often as it was added', () => {
    const filter = createCountingBloom({ entriesMax: 100, falsePositiveRateMax: 1e-6 })
    filter.add('a')
    filter.add('a')
    expect(filter.remove('a')).toBe(true)
    expect(filter.has('a')).toBe(true)
    expect(filter.remove('a')).toBe(true)
    expect(filter.has('a')).toBe(false)
    expect(filter.count).toBe(0)
  })

  it('changes nothing when asked to remove a key that is certainly not there', () => {
    const filter = createCountingBloom({ entriesMax: 100, falsePositiveRateMax: 1e-6 })
    filter.add('a')
    expect(filter.remove('b')).toBe(false)
    expect([filter.has('a'), filter.count]).toEqual([true, 1])
  })

  it.each<CounterBits>([2, 4, 8, 16])(
    'has its plain bits ready at every step with counters of %i bits',
    counterBits => {
      const filter = createCountingBloom({ bits: 1000, hashes: 3, counterBits, seed: 5n })
      const keys = Array.from({ length: 60 }, (_, i) => `key ${i}`)
      for (const [i, key] of keys.entries()) {
        filter.add(key)
        if (i % 3 === 0) filter.remove(key)
        const plain = createBloom({ bits: 1000, hashes: 3, seed: 5n })
        plain.addAll(keys.slice(0, i + 1).filter((_, j) => j % 3 !== 0))
        expect(filter.bloom.words).toEqual(plain.words)
      }
    },
  )

  it('estimates how often a key was added, and is never too low', () => {
    const filter = createCountingBloom({ entriesMax: 100, falsePositiveRateMax: 0.001, counterBits: 8 })
    for (let i = 0; i < 100; i++) for (let times = 0; times <= i % 7; times++) filter.add(`key ${i}`)
    let exact = 0
    for (let i = 0; i < 100; i++) {
      expect(filter.multiplicity(`key ${i}`)).toBeGreaterThanOrEqual((i % 7) + 1)
      if (filter.multiplicity(`key ${i}`) === (i % 7) + 1) exact++
    }
    expect(exact).toBeGreaterThan(95)
    expect(filter.multiplicity('absent')).toBe(0)
  })

  it('saturates rather than wraps: a key stays known however often others come and go', () => {
    const filter = createCountingBloom({ bits: 16, hashes: 2, counterBits: 2 })
    filter.add('kept')
    for (let i = 0; i < 50; i++) filter.add(`guest ${i}`)
    for (let i = 0; i < 50; i++) filter.remove(`guest ${i}`)
    expect(filter.has('kept')).toBe(true)
  })

  it('can be cleared and cloned', () => {
    const filter = createCountingBloom({ bits: 256, hashes: 2 })
    filter.add('a')
    const clone = filter.clone()
    filter.clear()
    expect([filter.has('a'), filter.count, clone.has('a'), clone.count]).toEqual([false, 0, true, 1])
    clone.remove('a')
    expect(clone.has('a')).toBe(false)
  })

  it('refuses a counter width that does not fit, and more counters than memory', () => {
    for (const options of [
      { bits: 16, hashes: 2, counterBits: 5 as CounterBits },
      { bits: 2 ** 32, hashes: 2, counterBits: 4 as CounterBits },
    ]) {
      expect(() => createCountingBloom(options)).toThrow(expect.objectContaining({ code: 'FILTER_OPTIONS_INVALID' }))
    }
  })
})
