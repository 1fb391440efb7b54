import { FreshetError, type PackedChanges } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CHANGE_HASH_BITS } from './change-hash.js'
import { type ListedChange, lastOfEach, packChanges, unpackChanges } from './packed-changes.js'

const HASH = fc.nat(2 ** CHANGE_HASH_BITS - 1)
const STEP = fc.oneof({ weight: 5, arbitrary: fc.nat(2) }, fc.nat(20), fc.nat(2 ** 40))

interface Stretch {
  readonly from: number
  readonly to: number
  readonly changes: readonly ListedChange[]
}

const stretch: fc.Arbitrary<Stretch> = fc
  .record({ from: fc.nat(2 ** 50), steps: fc.array(fc.tuple(STEP, HASH), { maxLength: 40 }), beyond: STEP })
  .map(({ from, steps, beyond }) => {
    let position = from
    const changes = steps.map(([step, hash]) => {
      position += step
      return { position, hash }
    })
    return { from, to: position + beyond, changes }
  })

const pack = ({ from, to, changes }: Stretch): PackedChanges => packChanges(from, to, changes)

describe('packed changes', () => {
  it('are the same after unpacking, wherever they begin and however far apart they are', () => {
    fc.assert(
      fc.property(stretch, given => {
        expect(unpackChanges(given.from, pack(given))).toEqual({ to: given.to, changes: given.changes })
      }),
      { numRuns: 1000 },
    )
  })

  it('have the form that clients in other languages read', () => {
    const changes = [
      { position: 101, hash: 0x12345 },
      { position: 101, hash: 0xfffff },
      { position: 150, hash: 0 },
    ]
    expect(packChanges(100, 152, changes)).toBe('0BDESNFD___8AAAiB')
  })

  it('take four characters each where every commit changes something', () => {
    const changes = Array.from({ length: 10 }, (_, i) => ({ position: 501 + i, hash: i * 1000 }))
    expect(packChanges(500, 510, changes)).toHaveLength(2 + 4 * 10)
  })

  it('that are cut short anywhere are refused', () => {
    fc.assert(
      fc.property(stretch, fc.nat(), (given, seed) => {
        const packed = pack(given)
        expect(() => unpackChanges(given.from, packed.slice(0, seed % packed.length))).toThrow(
          expect.objectContaining({ code: 'ANSWER_INVALID' }),
        )
      }),
      { numRuns: 1000 },
    )
  })

  it('that lack a change are refused', () => {
    const changes = [1, 2, 3].map(position => ({ position, hash: position }))
    const packed = packChanges(0, 3, changes)
    for (const at of [2, 6, 10]) {
      expect(() => unpackChanges(0, packed.slice(0, at) + packed.slice(at + 4))).toThrow(/cut short/)
    }
  })

  it('never make a reader fail in any other way, whatever the text', () => {
    const digit = fc.constantFrom(...'ABCDEgho0189-_'.split(''), '%', '\u0000', 'é', '😀')
    fc.assert(
      fc.property(
        fc.nat(2 ** 52),
        fc.oneof(
          fc.array(digit).map(digits => digits.join('')),
          fc.string(),
        ),
        (from, text) => {
          try {
            const { to, changes } = unpackChanges(from, text)
            for (const { position, hash } of changes) expect(position <= to && hash < 2 ** CHANGE_HASH_BITS).toBe(true)
            expect(packChanges(from, to, changes).length).toBeLessThanOrEqual(text.length)
          } catch (error) {
            expect(error).toBeInstanceOf(FreshetError)
          }
        },
      ),
      { numRuns: 5000 },
    )
  })

  it('that claim to be many are refused before any memory is allocated', () => {
    expect(() => unpackChanges(0, 'A________B')).toThrow(/cut short|too large/)
  })
})

it('of the changes of a path the last one is kept, and nothing else is lost', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 40 }), hashes => {
      const changes = hashes.map((hash, i) => ({ position: Math.floor(i / 3), hash }))
      const naive = new Map(changes.map(({ position, hash }) => [hash, position]))
      const kept = lastOfEach(changes)
      expect(new Map(kept.map(({ position, hash }) => [hash, position]))).toEqual(naive)
      expect(kept).toHaveLength(naive.size)
      expect(kept.map(({ position }) => position)).toEqual(kept.map(({ position }) => position).sort((a, b) => a - b))
    }),
  )
})
