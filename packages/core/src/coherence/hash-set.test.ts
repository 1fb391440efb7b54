import type { KeyHash } from '@freshet/bloom'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toHashSet, uniteHashSets, wordsOf } from './hash-set.js'

const word = fc.oneof(fc.integer(), fc.constantFrom(0, -1, 1, -(2 ** 31), 2 ** 31 - 1))
const hashes = fc.array(fc.record({ low: word, high: word }), { maxLength: 50 })

function pairsOf(words: Int32Array): Set<string> {
  return new Set(Array.from({ length: words.length / 2 }, (_, i) => `${words[2 * i]},${words[2 * i + 1]}`))
}

function pairs(list: readonly KeyHash[]): Set<string> {
  return new Set(list.map(({ low, high }) => `${low},${high}`))
}

it('holds each hash once, and a union holds the hashes of all its parts', () => {
  fc.assert(
    fc.property(fc.array(hashes, { maxLength: 5 }), lists => {
      const union = uniteHashSets(lists.map(toHashSet))
      const expected = pairs(lists.flat())
      expect(pairsOf(wordsOf(union))).toEqual(expected)
      expect(union.length).toBe(expected.size)
      expect([...union]).toEqual([...union].sort((a, b) => (a < b ? -1 : 1)))
    }),
  )
})
