/**
 * Ids of new objects, made by the server on POST or by a client that must know them before it writes: 26 characters that
 * sort by creation time, as ULIDs do, in lower case.
 *
 *     01jd3v8q2x  7kq2m4z9c1f5t8wr
 *     48 bits     80 random bits, counted up within one millisecond
 *     of time
 */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_BYTES = 10
const RANDOM_MAX = (1n << 80n) - 1n

export interface IdSources {
  readonly nowMs: () => number
  /** Returns `count` unguessable bytes. */
  readonly randomBytes: (count: number) => Uint8Array
}

/** Makes ids, each greater than the one before it. */
export function createIdMaker({ nowMs, randomBytes }: IdSources): () => string {
  let lastMs = 0
  let random = 0n
  return () => {
    const timeMs = Math.max(lastMs, nowMs())
    // After an overflow, which takes half of 2^80 ids in one millisecond, time moves on.
    if (timeMs === lastMs && random < RANDOM_MAX) random++
    else {
      lastMs = timeMs === lastMs ? timeMs + 1 : timeMs
      // The top bit is left free, so that counting up has room.
      random = numberOf(randomBytes(RANDOM_BYTES)) >> 1n
    }
    return base32(BigInt(lastMs), 10) + base32(random, 16)
  }
}

/** When an id was made, in milliseconds since 1970, by the clock of its maker. */
export function timeOfId(id: string): number {
  return [...id.slice(0, 10)].reduce((timeMs, digit) => timeMs * 32 + DIGITS.indexOf(digit), 0)
}

function numberOf(bytes: Uint8Array): bigint {
  return bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n)
}

function base32(value: bigint, length: number): string {
  let text = ''
  let rest = value
  for (let i = 0; i < length; i++) {
    text = DIGITS[Number(rest & 31n)] + text
    rest >>= 5n
  }
  return text
}
