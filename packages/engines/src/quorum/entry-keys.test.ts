import { compareUtf8 } from '@freshet/core/store'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ENTRIES, entryIn, entryWrite, idsOf, isCutId, isInRange } from './entry-keys.js'

/** Many entries begin alike, and some are longer than a key may be. */
const entry = fc
  .tuple(
    fc.constantFrom(0, 1, 398, 399, 400, 401, 799, 800, 900),
    fc.uint8Array({ maxLength: 6 }),
    fc.constantFrom(0x61, 0xc3),
  )
  .map(([length, end, byte]) => Buffer.concat([Buffer.of(0, 0, 0, 7), Buffer.alloc(length, byte), end]))

function idOf(each: Buffer): string {
  return entryWrite(each, true).key.slice(ENTRIES.length + 1)
}

test('entries become keys within a node’s limit, in the order of their bytes unless both are cut', () => {
  fc.assert(
    fc.property(entry, entry, (a, b) => {
      expect(Buffer.byteLength(entryWrite(a, true).key)).toBeLessThanOrEqual(1024)
      const isRun = isCutId(idOf(a)) && isCutId(idOf(b))
      if (!isRun) expect(Math.sign(compareUtf8(idOf(a), idOf(b)))).toBe(Math.sign(a.compare(b)))
    }),
    { numRuns: 2000 },
  )
})

test('an entry is read as it was written', () => {
  fc.assert(
    fc.property(entry, each => {
      const write = entryWrite(each, true)
      const body = 'body' in write ? write.body : new Uint8Array()
      expect(entryIn({ id: idOf(each), body })).toEqual(each)
    }),
  )
})

test('the entries of a range lie between the ids of the range', () => {
  fc.assert(
    fc.property(
      entry,
      entry,
      entry,
      fc.option(entry, { nil: undefined }),
      fc.boolean(),
      (each, low, high, after, isDescending) => {
        const range = { low, high, after, isDescending }
        const ids = idsOf(range)
        if (!isInRange(each, range)) return
        expect(compareUtf8(idOf(each), ids.low)).toBeGreaterThanOrEqual(0)
        expect(compareUtf8(idOf(each), ids.high)).toBeLessThan(0)
      },
    ),
    { numRuns: 5000 },
  )
})
