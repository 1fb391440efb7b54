import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isEnough, neededAt } from './level.js'

describe('levels', () => {
  it('need one, more than half, or all', () => {
    expect(([1, 2, 3, 4, 5] as const).map(n => neededAt('QUORUM', n))).toEqual([1, 2, 2, 3, 3])
    expect([neededAt('ONE', 3), neededAt('ANY', 3), neededAt('ALL', 3), neededAt('ONE', 0)]).toEqual([1, 1, 3, 0])
  })

  it('any two quorums have a replica in common, also while the ring changes', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const sets = fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 })
    const answered = fc.uniqueArray(fc.constantFrom(...names))
    fc.assert(
      fc.property(sets, sets, answered, answered, (old, now, x, y) => {
        // One quorum by the layout before or after, the other by both.
        for (const alone of [old, now]) {
          if (!isEnough(new Set(x), [alone], 'QUORUM') || !isEnough(new Set(y), [old, now], 'QUORUM')) continue
          expect(x.some(name => y.includes(name))).toBe(true)
        }
      }),
    )
  })
})
