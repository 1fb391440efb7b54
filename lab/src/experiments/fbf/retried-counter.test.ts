import { expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { countWithRetries } from './retried-counter.js'

const LOAD = { operations: 10_000, perSecond: 10, retryShare: 0.25, windowMs: 1000 }

it('an exact filter counts every operation once', () => {
  const seen = new Set<string>()
  const exact = { insert: (key: Uint8Array) => seen.size < seen.add(key.join()).size }
  expect(countWithRetries(exact, LOAD, createRandom(1))).toEqual({ operations: 10_000, overCount: 0, underCount: 0 })
})

it('a filter that knows nothing counts every retry again, and a filter that knows everything counts nothing', () => {
  const { overCount, underCount } = countWithRetries({ insert: () => true }, LOAD, createRandom(1))
  expect(overCount).toBeGreaterThan(2300)
  expect(overCount).toBeLessThan(2700)
  expect(underCount).toBe(0)
  expect(countWithRetries({ insert: () => false }, LOAD, createRandom(1)).underCount).toBe(10_000)
})
