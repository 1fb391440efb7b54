import { createBloom, encodeBloom } from '@freshet/bloom'
import { FreshetError } from '@freshet/protocol'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeFilter,
  decodeSegmentBundle,
  encodeSegmentBundle,
  formatSegmentRefs,
  parseSegmentRefs,
  SEGMENTS_PER_BUNDLE_MAX,
} from './segment-bundle.js'

const SEED = 5n
const filterOf = (keys: readonly string[], seed = SEED) => {
  const filter = createBloom({ entriesMax: Math.max(1, keys.length), falsePositiveRateMax: 0.01, seed })
  filter.addAll(keys)
  return encodeBloom(filter)
}

/** Runs it; any error it throws must be ours. */
function refusedOrFine(work: () => unknown): void {
  try {
    work()
  } catch (error) {
    expect(error).toBeInstanceOf(FreshetError)
    expect((error as FreshetError).code).toBe('ANSWER_INVALID')
  }
}

describe('a bundle of segments', () => {
  it('returns the filters in order', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.string(), { maxLength: 9 }), { maxLength: 9 }), lists => {
        const bundle = encodeSegmentBundle(lists.map(keys => filterOf(keys)))
        const filters = decodeSegmentBundle(bundle, lists.length, SEED)
        lists.forEach((keys, i) => {
          for (const key of keys) expect(filters[i]!.has(key)).toBe(true)
        })
      }),
    )
  })

  it('is refused if it is cut, has another count or another seed', () => {
    const bundle = encodeSegmentBundle([filterOf(['a']), filterOf(['b'])])
    for (let length = 0; length < bundle.length; length++) {
      expect(() => decodeSegmentBundle(bundle.subarray(0, length), 2, SEED)).toThrow(FreshetError)
    }
    expect(() => decodeSegmentBundle(bundle, 1, SEED)).toThrow(/2 filters instead of 1/)
    expect(() => decodeSegmentBundle(bundle, 2, 6n)).toThrow(/another seed/)
    expect(() => decodeFilter(filterOf(['a'], 6n), SEED)).toThrow(/another seed/)
  })

  it('never crashes its reader, whatever the bytes', () => {
    const good = encodeSegmentBundle([filterOf(['a', 'b']), filterOf(['c'])])
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), bytes => refusedOrFine(() => decodeSegmentBundle(bytes, 1, SEED))),
    )
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.nat(255), (at, byte) => {
        const bad = good.slice()
        bad[at] = byte
        refusedOrFine(() => decodeSegmentBundle(bad, 2, SEED))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the names of segments in a URL', () => {
  it('are parsed as they were formatted', () => {
    const ref = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 1000 })).map(([from, by]) => ({ from, to: from + by }))
    fc.assert(
      fc.property(fc.array(ref, { minLength: 1, maxLength: SEGMENTS_PER_BUNDLE_MAX }), refs => {
        expect(parseSegmentRefs(formatSegmentRefs(refs))).toEqual(refs)
      }),
    )
  })

  it.each([
    '',
    '5',
    '5-',
    '-5',
    '5-5',
    '6-5',
    '05-6',
    '5-6-7',
    '5-6,',
    ',5-6',
    '5-6;7-8',
    '5-1e3',
    '1-99999999999999999',
  ])('are not %j', text => {
    expect(parseSegmentRefs(text)).toBeUndefined()
  })

  it('are refused if they are more than a bundle holds', () => {
    const refs = Array.from({ length: SEGMENTS_PER_BUNDLE_MAX + 1 }, (_, i) => ({ from: i, to: i + 1 }))
    expect(parseSegmentRefs(formatSegmentRefs(refs))).toBeUndefined()
  })

  it('never crash their parser', () => {
    fc.assert(
      fc.property(fc.string(), text => {
        const refs = parseSegmentRefs(text)
        if (refs) expect(formatSegmentRefs(refs)).toBe(text)
      }),
    )
  })
})
