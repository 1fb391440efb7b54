/**
 * The JSON form, for other languages and for human readers: the same fields by name, the seed as 16 hexadecimal digits (JSON
 * numbers cannot hold it), the payload of the binary form in base64.
 */
import {
  bytesFromWords,
  checkHeader,
  type DecodeOptions,
  type EncodedFilter,
  type FilterKind,
  malformed,
  payloadBytes,
  wordsFromBytes,
} from './encoded-filter.js'

export interface FilterJson {
  readonly format: 'freshet-filter'
  readonly version: 1
  readonly kind: FilterKind
  readonly bits: number
  readonly hashes: number
  readonly bitsPerPlace: number
  readonly seed: string
  readonly count: number
  readonly payload: string
}

const CHARS_PER_CALL = 8192

export function partsToJson(parts: EncodedFilter): FilterJson {
  return {
    format: 'freshet-filter',
    version: 1,
    kind: parts.kind,
    bits: parts.bits,
    hashes: parts.hashes,
    bitsPerPlace: parts.bitsPerPlace,
    seed: parts.seed.toString(16).padStart(16, '0'),
    count: parts.count,
    payload: toBase64(bytesFromWords(parts)),
  }
}

/** Takes the result of `JSON.parse`, whatever it is. */
export function partsFromJson(json: unknown, kindWanted: FilterKind, options: DecodeOptions): EncodedFilter {
  if (typeof json !== 'object' || json === null) throw malformed('it is not a JSON object')
  const { format, version, kind, bits, hashes, bitsPerPlace, seed, count, payload } = json as Partial<FilterJson>
  if (format !== 'freshet-filter') throw malformed('its "format" is not "freshet-filter"')
  if (version !== 1) throw malformed('its "version" is not 1, the one that this library reads')
  if (kind !== 'bloom' && kind !== 'counting') throw malformed('its "kind" is neither "bloom" nor "counting"')
  if (typeof seed !== 'string' || !/^[0-9a-f]{16}$/.test(seed))
    throw malformed('its "seed" is not 16 hexadecimal digits')
  if (typeof payload !== 'string') throw malformed('its "payload" is not a string')
  const header = {
    kind,
    bits: numberOf(bits, 'bits'),
    hashes: numberOf(hashes, 'hashes'),
    bitsPerPlace: numberOf(bitsPerPlace, 'bitsPerPlace'),
    seed: BigInt(`0x${seed}`),
    count: numberOf(count, 'count'),
  }
  checkHeader(header, kindWanted, options)
  return { ...header, words: wordsFromBytes(fromBase64(payload, payloadBytes(header)), header) }
}

function numberOf(value: unknown, name: string): number {
  if (typeof value !== 'number') throw malformed(`its "${name}" is not a number`)
  return value
}

function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += CHARS_PER_CALL) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHARS_PER_CALL))
  }
  return btoa(binary)
}

function fromBase64(base64: string, lengthWanted: number): Uint8Array {
  // The length is checked first, so that no more is decoded than the checked header calls for.
  if (base64.length !== Math.ceil(lengthWanted / 3) * 4) {
    throw malformed(`its "payload" has ${base64.length} characters, not the base64 of ${lengthWanted} bytes`)
  }
  let binary: string
  try {
    binary = atob(base64)
  } catch (cause) {
    throw malformed('its "payload" is not base64', cause)
  }
  if (binary.length !== lengthWanted) throw malformed(`its "payload" has ${binary.length} bytes, not ${lengthWanted}`)
  return Uint8Array.from(binary, char => char.charCodeAt(0))
}
