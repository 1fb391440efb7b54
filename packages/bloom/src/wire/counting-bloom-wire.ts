import { type CounterBits, CountingBloom } from '../counting/counting-bloom.js'
import { decodeParts, encodeParts } from './binary.js'
import type { DecodeOptions, EncodedFilter } from './encoded-filter.js'
import { type FilterJson, partsFromJson, partsToJson } from './json.js'

export function encodeCountingBloom(filter: CountingBloom): Uint8Array {
  return encodeParts(partsOf(filter))
}

/** Throws FILTER_ENCODING_INVALID or FILTER_TOO_LARGE, whatever the bytes are. */
export function decodeCountingBloom(bytes: Uint8Array, options: DecodeOptions = {}): CountingBloom {
  return build(decodeParts(bytes, 'counting', options))
}

export function countingBloomToJson(filter: CountingBloom): FilterJson {
  return partsToJson(partsOf(filter))
}

/** Takes parsed JSON. Throws FILTER_ENCODING_INVALID or FILTER_TOO_LARGE, whatever it is. */
export function countingBloomFromJson(json: unknown, options: DecodeOptions = {}): CountingBloom {
  return build(partsFromJson(json, 'counting', options))
}

function partsOf(filter: CountingBloom): EncodedFilter {
  const { bits, hashes, seed, count, counterBits, counters } = filter
  return { kind: 'counting', bits, hashes, bitsPerPlace: counterBits, seed, count, words: counters }
}

function build(parts: EncodedFilter): CountingBloom {
  return new CountingBloom(parts, parts.seed, parts.bitsPerPlace as CounterBits, parts.words, parts.count)
}
