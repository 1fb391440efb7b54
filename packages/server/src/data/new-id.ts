/**
 * Ids made by the server: 26 characters that sort by the time they were made, as ULIDs do, in lower case.
 *
 *     01jd3v8q2x  7kq2m4z9c1f5t8wr
 *     48 bits     80 random bits, counted up within one millisecond
 *     of time
 */
import { randomBytes } from 'node:crypto'

const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const RANDOM_BITS = 80n
const RANDOM_MAX = (1n << RANDOM_BITS) - 1n

/** Makes ids, each greater than the one before it. */
export function createIdMaker(nowMs: () => number = Date.now): () => string {
  let lastMs = 0
  let random = 0n
  return () => {
    const timeMs = Math.max(lastMs, nowMs())
    // After an overflow, which half of 2^80 ids in one millisecond would take, time is moved on.
    if (timeMs === lastMs && random < RANDOM_MAX) random++
    else {
      lastMs = timeMs === lastMs ? timeMs + 1 : timeMs
      // The top bit is left free, so that counting up has room.
      random = BigInt(`0x${randomBytes(10).toString('hex')}`) >> 1n
    }
    return base32(BigInt(lastMs), 10) + base32(random, 16)
  }
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
