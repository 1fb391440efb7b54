/** The contents of both encodings, and the checks before anything is built from them. */
import { FilterError } from '../filter-error.js'
import type { Seed } from '../hashing/seed.js'
import { BITS_MAX, HASHES_MAX } from '../plain/sizing.js'

export type FilterKind = 'bloom' | 'counting'

export interface EncodedFilter {
  readonly kind: FilterKind
  readonly bits: number
  readonly hashes: number
  /** 1 for a plain filter, the width of a counter for a counting one. */
  readonly bitsPerPlace: number
  readonly seed: Seed
  readonly count: number
  readonly words: Int32Array
}

export interface DecodeOptions {
  /** Refuse filters with a larger payload than this. 64 MiB by default. */
  readonly sizeBytesMax?: number
}

const SIZE_BYTES_MAX = 64 * 1024 * 1024

export function payloadBytes(parts: { bits: number; bitsPerPlace: number }): number {
  return Math.ceil((parts.bits * parts.bitsPerPlace) / 8)
}

/** Checks everything but the payload, before memory is allocated for it. */
export function checkHeader(
  header: Omit<EncodedFilter, 'words'>,
  kindWanted: FilterKind,
  options: DecodeOptions,
): void {
  const { kind, bits, hashes, bitsPerPlace, count } = header
  if (kind !== kindWanted) throw malformed(`this is a ${kind} filter; decode it with the function for that kind`)
  if (!Number.isInteger(bits) || bits < 1 || bits > BITS_MAX) throw malformed(`bits is ${bits}, not 1 to ${BITS_MAX}`)
  if (!Number.isInteger(hashes) || hashes < 1 || hashes > HASHES_MAX) {
    throw malformed(`hashes is ${hashes}, not 1 to ${HASHES_MAX}`)
  }
  const widths = kind === 'bloom' ? [1] : [2, 4, 8, 16]
  if (!widths.includes(bitsPerPlace)) throw malformed(`bits per place is ${bitsPerPlace}, not ${widths.join(' or ')}`)
  if (!Number.isSafeInteger(count) || count < 0) throw malformed(`count is ${count}, not a number of keys`)
  const sizeBytesMax = options.sizeBytesMax ?? SIZE_BYTES_MAX
  const sizeBytes = payloadBytes(header)
  if (sizeBytes > sizeBytesMax) {
    throw new FilterError(
      'FILTER_TOO_LARGE',
      `The encoded filter has ${sizeBytes} bytes; at most ${sizeBytesMax} are accepted. Raise sizeBytesMax if you trust it.`,
    )
  }
}

/** Bytes to words, lowest byte first, on any machine. Bits after the last place must be 0. */
export function wordsFromBytes(bytes: Uint8Array, header: { bits: number; bitsPerPlace: number }): Int32Array {
  const words = new Int32Array(Math.ceil(bytes.length / 4))
  for (let i = 0; i < bytes.length; i++) words[i >> 2]! |= bytes[i]! << ((i & 3) * 8)
  const used = (header.bits * header.bitsPerPlace) % 32
  if (used !== 0 && words.at(-1)! >>> used !== 0) throw malformed('bits are set after the last place')
  return words
}

export function bytesFromWords(parts: EncodedFilter): Uint8Array {
  const bytes = new Uint8Array(payloadBytes(parts))
  for (let i = 0; i < bytes.length; i++) bytes[i] = parts.words[i >> 2]! >>> ((i & 3) * 8)
  return bytes
}

export function malformed(what: string, cause?: unknown): FilterError {
  return new FilterError(
    'FILTER_ENCODING_INVALID',
    `Not an encoded filter, or damaged: ${what}. Fetch it again, or encode it again with this library.`,
    { cause },
  )
}
