import { Bloom, type BloomView } from '../plain/bloom.js'
import { decodeParts, encodeParts } from './binary.js'
import type { DecodeOptions, EncodedFilter } from './encoded-filter.js'
import { type FilterJson, partsFromJson, partsToJson } from './json.js'

export function encodeBloom(filter: BloomView): Uint8Array {
  return encodeParts(partsOf(filter))
}

/** Throws FILTER_ENCODING_INVALID or FILTER_TOO_LARGE, whatever the bytes are. */
export function decodeBloom(bytes: Uint8Array, options: DecodeOptions = {}): Bloom {
  return build(decodeParts(bytes, 'bloom', options))
}

export function bloomToJson(filter: BloomView): FilterJson {
  return partsToJson(partsOf(filter))
}

/** Takes parsed JSON. Throws FILTER_ENCODING_INVALID or FILTER_TOO_LARGE, whatever it is. */
export function bloomFromJson(json: unknown, options: DecodeOptions = {}): Bloom {
  return build(partsFromJson(json, 'bloom', options))
}

function partsOf(filter: BloomView): EncodedFilter {
  const { bits, hashes, seed, count, words } = filter
  return { kind: 'bloom', bits, hashes, bitsPerPlace: 1, seed, count, words }
}

function build(parts: EncodedFilter): Bloom {
  return new Bloom(parts, parts.seed, parts.words, parts.count)
}
