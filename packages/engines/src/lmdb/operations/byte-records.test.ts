import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ByteReader, ByteWriter } from './byte-records.js'

const PART = fc.oneof(
  fc.record({ kind: fc.constant('number' as const), value: fc.maxSafeNat() }),
  fc.record({
    kind: fc.constant('signed' as const),
    value: fc.maxSafeInteger().filter(value => !Object.is(value, -0)),
  }),
  fc.record({ kind: fc.constant('double' as const), value: fc.double({ noNaN: true }) }),
  fc.record({
    kind: fc.constant('text' as const),
    value: fc.oneof(
      fc.string(),
      fc.string({ unit: 'grapheme' }),
      fc.constant('x'.repeat(50_000)),
      fc.constant('ü'.repeat(30_000)),
    ),
  }),
)

test('what was written is read back', () => {
  const writer = new ByteWriter()
  fc.assert(
    fc.property(fc.array(PART), parts => {
      writer.clear()
      for (const { kind, value } of parts) (writer[kind] as (value: number | string) => void).call(writer, value)
      const reader = new ByteReader(Buffer.from(writer.bytes()))
      for (const { kind, value } of parts) expect(reader[kind]()).toBe(value)
      expect(reader.isAtEnd).toBe(true)
    }),
    { numRuns: 500, seed: 6 },
  )
})

test.each([0, 1, 127, 128, 2 ** 31 - 1, 2 ** 31, 2 ** 38 - 1, 2 ** 52, Number.MAX_SAFE_INTEGER])('%d', value => {
  const writer = new ByteWriter()
  writer.number(value)
  expect(new ByteReader(Buffer.from(writer.bytes())).number()).toBe(value)
})
