import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PackedEntries } from './packed-entries.js'

describe('packed entries', () => {
  it('return what was written last, at every width, and leave their neighbours alone', () => {
    const write = fc.record({ at: fc.nat(40), value: fc.nat(0xffffffff) })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 32 }), fc.array(write), (entryBits, writes) => {
        const packed = new PackedEntries(41, entryBits)
        const plain = new Array<number>(41).fill(0)
        for (const { at, value } of writes) {
          const entry = value >>> (32 - entryBits)
          packed.write(at, entry)
          plain[at] = entry
        }
        expect(plain.map((_, at) => packed.read(at) >>> 0)).toEqual(plain)
      }),
    )
  })

  it('take no more space than the bits of the entries, rounded up to a word', () => {
    expect(new PackedEntries(100, 13).sizeBytes).toBe(Math.ceil(1300 / 32) * 4)
  })
})
