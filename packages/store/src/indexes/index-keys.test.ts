import { compareValues } from '@freshet/core/queries'
import type { Condition, Scalar, SortValue } from '@freshet/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  encodeIndexValue,
  entriesUnder,
  entryKey,
  indexPrefix,
  mayBeCut,
  narrow,
  TEXT_BYTES_MAX,
  valueEnds,
} from './index-keys.js'

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.string({ unit: fc.constantFrom('\0', '\u0001', '\u0002', 'a', 'é', '\uffff', '😀'), maxLength: 8 }),
  fc.string({ unit: fc.constantFrom('a', '\0', '😀'), minLength: 190, maxLength: 210 }),
)
const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(-0, Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, -Number.MIN_VALUE),
)
const scalar: fc.Arbitrary<Scalar> = fc.oneof(fc.constant(null), fc.boolean(), number, text)
const value: fc.Arbitrary<SortValue> = fc.oneof(scalar, fc.constantFrom<SortValue>(undefined, [1], {}))

test('the order of the bytes is the order of the values, up to where a text is cut', () => {
  fc.assert(
    fc.property(value, value, (a, b) => {
      const [bytesA, bytesB] = [encodeIndexValue(a), encodeIndexValue(b)]
      const order = Math.sign(Buffer.compare(bytesA, bytesB))
      if (order === 0 && mayBeCut(bytesA)) return
      expect(order).toBe(Math.sign(compareValues(a, b)) + 0)
    }),
    { numRuns: 20_000 },
  )
})

test('entries are in the order of their values, one after the other, and then of their ids', () => {
  const entry = fc.tuple(fc.array(value, { minLength: 3, maxLength: 3 }), fc.string({ unit: 'grapheme', minLength: 1 }))
  fc.assert(
    fc.property(entry, entry, fc.boolean(), ([valuesA, idA], [drawnB, idB], isAlike) => {
      const valuesB = isAlike ? [valuesA[0], valuesA[1], drawnB[2]] : drawnB
      const [a, b] = [entryKey(7, valuesA, idA), entryKey(7, valuesB, idB)]
      const cut = valuesA.findIndex(one => mayBeCut(encodeIndexValue(one)))
      const compared = cut === -1 ? valuesA.length : cut
      const differences = valuesA.slice(0, compared).map((one, i) => Math.sign(compareValues(one, valuesB[i])))
      const byId = cut === -1 ? Math.sign(Buffer.compare(Buffer.from(idA), Buffer.from(idB))) : 0
      const expected = differences.find(difference => difference !== 0) ?? byId
      if (expected !== 0) expect(Math.sign(Buffer.compare(a, b))).toBe(expected)
    }),
    { numRuns: 10_000 },
  )
})

test('the id of an entry is found behind its values, and fits with them into a key of the engine', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 4 }), fc.string({ unit: 'grapheme' }), (values, id) => {
      const key = entryKey(2 ** 32 - 1, values, id)
      const ends = valueEnds(key, values.length)
      expect(key.toString('utf8', ends.at(-1))).toBe(id)
      expect(key.length - Buffer.byteLength(id)).toBeLessThanOrEqual(4 + values.length * (TEXT_BYTES_MAX + 2))
    }),
  )
})

test('a range holds every value that its conditions match', () => {
  const operator = fc.constantFrom('$lt', '$lte', '$gt', '$gte')
  fc.assert(
    fc.property(operator, scalar, value, fc.string({ unit: 'grapheme', maxLength: 3 }), (name, operand, found, id) => {
      const isSameType = operand === null || found === null ? operand === found : typeof operand === typeof found
      const difference = compareValues(found, operand)
      const isMatch = isSameType && (difference === 0 ? name.endsWith('e') : difference < 0 === name.startsWith('$l'))
      if (isMatch) expect(isIn({ [name]: operand }, found, id)).toBe(true)
      // Nothing else, unless a text was cut or the value lies at the bound.
      else if (difference !== 0 && !mayBeCut(encodeIndexValue(found)))
        expect(isIn({ [name]: operand }, found, id)).toBe(false)
    }),
    { numRuns: 10_000 },
  )
  fc.assert(
    fc.property(text, text, (prefix, rest) => {
      expect(isIn({ $prefix: prefix }, prefix + rest, 'id')).toBe(true)
      if (!rest.startsWith(prefix) && prefix.length < 60) expect(isIn({ $prefix: prefix }, rest, 'id')).toBe(false)
    }),
  )
})

function isIn(condition: Condition, found: SortValue, id: string): boolean {
  const prefix = indexPrefix(3)
  const { low, high } = narrow(entriesUnder(prefix), prefix, [condition])
  const key = entryKey(3, [found], id)
  return Buffer.compare(low, key) <= 0 && Buffer.compare(key, high) < 0
}
