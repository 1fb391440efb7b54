import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCountingBloom } from '../counting/counting-bloom.js'
import { FilterError } from '../filter-error.js'
import { type Bloom, createBloom } from '../plain/bloom.js'
import { keyIndexes } from '../plain/key-indexes.js'
import { bloomFromJson, bloomToJson, decodeBloom, encodeBloom } from './bloom-wire.js'
import {
  countingBloomFromJson,
  countingBloomToJson,
  decodeCountingBloom,
  encodeCountingBloom,
} from './counting-bloom-wire.js'
import golden from './golden-vectors.json' with { type: 'json' }

const anyFilter = fc
  .record({
    bits: fc.integer({ min: 1, max: 3000 }),
    hashes: fc.integer({ min: 1, max: 12 }),
    seed: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    keys: fc.array(fc.string({ unit: 'binary' }), { maxLength: 50 }),
  })
  .map(({ keys, ...options }) => {
    const filter = createBloom(options)
    filter.addAll(keys)
    return filter
  })

describe('the golden vectors', () => {
  it.each(golden.indexes)('have the indexes of $key, $repeat times, in $bits bits', vector => {
    const { key, repeat, bits, hashes, seed, indexes } = vector
    expect([...keyIndexes(key.repeat(repeat), { bits, hashes, seed: BigInt(`0x${seed}`) })]).toEqual(indexes)
  })

  it.each(golden.filters.filter(({ json }) => json.kind === 'bloom'))('match a plain filter: $name', vector => {
    const { bits, hashes, seed } = vector.json
    const filter = createBloom({ bits, hashes, seed: BigInt(`0x${seed}`) })
    filter.addAll(vector.keys)
    expect(toHex(encodeBloom(filter))).toBe(vector.hex)
    expect(bloomToJson(filter)).toEqual(vector.json)
    expect(decodeBloom(fromHex(vector.hex))).toEqual(filter)
    expect(bloomFromJson(vector.json)).toEqual(filter)
  })

  it.each(golden.filters.filter(({ json }) => json.kind === 'counting'))('match a counting filter: $name', vector => {
    const { bits, hashes, seed, bitsPerPlace } = vector.json
    const filter = createCountingBloom({
      bits,
      hashes,
      seed: BigInt(`0x${seed}`),
      counterBits: bitsPerPlace as 2 | 4,
    })
    for (const key of vector.keys) filter.add(key)
    expect(toHex(encodeCountingBloom(filter))).toBe(vector.hex)
    expect(countingBloomToJson(filter)).toEqual(vector.json)
    expect(decodeCountingBloom(fromHex(vector.hex))).toEqual(filter)
    expect(countingBloomFromJson(vector.json)).toEqual(filter)
  })
})

describe('encoding', () => {
  it('round-trips to the same filter, in both forms', () => {
    fc.assert(
      fc.property(anyFilter, filter => {
        expect(decodeBloom(encodeBloom(filter))).toEqual(filter)
        expect(bloomFromJson(JSON.parse(JSON.stringify(bloomToJson(filter))))).toEqual(filter)
      }),
    )
  })

  it('reads bytes at any offset of their buffer', () => {
    const encoded = encodeBloom(filterOf('a'))
    const shifted = new Uint8Array(encoded.length + 3)
    shifted.set(encoded, 3)
    expect(decodeBloom(shifted.subarray(3)).has('a')).toBe(true)
  })
})

describe('decoding hostile input', () => {
  it('notices any damage: one changed, missing or added byte', () => {
    fc.assert(
      fc.property(anyFilter, fc.nat(), fc.integer({ min: 1, max: 255 }), (filter, position, flip) => {
        const encoded = encodeBloom(filter)
        const damaged = encoded.slice()
        damaged[position % encoded.length]! ^= flip
        expectRefusal(() => decodeBloom(damaged))
        expectRefusal(() => decodeBloom(encoded.subarray(0, position % encoded.length)))
        expectRefusal(() => decodeBloom(Uint8Array.of(...encoded, flip)))
      }),
      { numRuns: 500 },
    )
  })

  it('never throws anything but its own error on random bytes, with or without a valid header', () => {
    const header = encodeBloom(filterOf('a')).subarray(0, 8)
    fc.assert(
      fc.property(fc.boolean(), fc.uint8Array({ maxLength: 100 }), (hasHeader, bytes) => {
        expectRefusal(() => decodeBloom(hasHeader ? Uint8Array.of(...header, ...bytes) : bytes))
        expectRefusal(() => decodeCountingBloom(hasHeader ? Uint8Array.of(...header, ...bytes) : bytes))
      }),
      { numRuns: 5000 },
    )
  })

  it('never throws anything but its own error on random JSON, alone or in place of one field', () => {
    const valid: Record<string, unknown> = { ...bloomToJson(filterOf('a')) }
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(valid)), fc.jsonValue(), (field, value) => {
        expectRefusal(() => bloomFromJson(value))
        fc.pre(JSON.stringify(valid[field]) !== JSON.stringify(value))
        // Another count is a different filter, not a damaged one.
        fc.pre(field !== 'count' || typeof value !== 'number')
        expectRefusal(() => bloomFromJson({ ...valid, [field]: value }))
      }),
      { numRuns: 3000 },
    )
  })

  it('is not misled by JSON that cannot be turned into text', () => {
    const valid = bloomToJson(filterOf('a'))
    for (const field of Object.keys(valid)) {
      expectRefusal(() => bloomFromJson({ ...valid, [field]: { toString: [], valueOf: 1 } }))
    }
  })

  it('refuses a header that calls for more than the limit before allocating the memory', () => {
    const encoded = encodeBloom(createBloom({ bits: 8 * 1001, hashes: 1 }))
    expect(() => decodeBloom(encoded, { sizeBytesMax: 1000 })).toThrow(
      expect.objectContaining({ code: 'FILTER_TOO_LARGE', message: expect.stringContaining('1001 bytes') }),
    )
    new DataView(encoded.buffer).setBigUint64(8, 2n ** 32n, true)
    expect(() => decodeBloom(encoded)).toThrow(expect.objectContaining({ code: 'FILTER_TOO_LARGE' }))
    const json = { ...bloomToJson(filterOf('a')), bits: 2 ** 32 }
    expect(() => bloomFromJson(json)).toThrow(expect.objectContaining({ code: 'FILTER_TOO_LARGE' }))
  })

  it.each<[string, (bytes: Uint8Array) => void, string]>([
    ['magic', bytes => bytes.set([0]), '"FRSH"'],
    ['version', bytes => bytes.set([9], 4), 'version is 9'],
    ['kind', bytes => bytes.set([7], 5), 'kind is 7'],
    ['another kind', bytes => bytes.set([2], 5), 'counting filter'],
    ['hashes', bytes => bytes.set([0], 6), 'hashes is 0'],
    ['width', bytes => bytes.set([3], 7), 'per place is 3'],
    ['bits', bytes => bytes.set([0, 0], 8), 'bits is 0'],
    ['length', bytes => bytes.set([200], 8), 'calls for'],
    ['count', bytes => bytes.set([255], 31), 'count is'],
    ['payload', bytes => bytes.set([255], 33), 'check word'],
  ])('names what is wrong with the %s', (_, damage, words) => {
    const encoded = encodeBloom(filterOf('a'))
    damage(encoded)
    expect(() => decodeBloom(encoded)).toThrow(
      expect.objectContaining({ code: 'FILTER_ENCODING_INVALID', message: expect.stringContaining(words) }),
    )
  })

  it('refuses bits after the last place', () => {
    const json = { ...bloomToJson(createBloom({ bits: 3, hashes: 1 })), payload: btoa('\u0008') }
    expect(() => bloomFromJson(json)).toThrow(
      expect.objectContaining({ message: expect.stringContaining('last place') }),
    )
  })
})

function filterOf(...keys: string[]): Bloom {
  const filter = createBloom({ bits: 512, hashes: 3, seed: 4n })
  filter.addAll(keys)
  return filter
}

function expectRefusal(decode: () => unknown): void {
  try {
    decode()
  } catch (error) {
    expect(error).toBeInstanceOf(FilterError)
    expect((error as FilterError).code).toMatch(/^FILTER_(ENCODING_INVALID|TOO_LARGE)$/)
    return
  }
  expect.fail('it was taken for a filter')
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], pair => Number.parseInt(pair, 16))
}
