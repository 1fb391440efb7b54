/**
 * The name of a path in a recording, and whether it is in the sample.
 *
 * A sample consists of paths, not of operations: a sample of random operations leaves out the very reads and writes that
 * show a violation, and half a session looks like a good one. It does not consist of sessions either: then the writes that
 * a sampled session should have seen are missing. The name of a path alone decides whether it is in the sample. So all
 * recorders keep the same paths, and everything about them, and a smaller sample is part of a larger one.
 */
import { hashUnder, type KeyHash } from '@freshet/bloom'
import type { Path } from '@freshet/protocol'

const hashForSample = hashUnder(0x5a3bn)
const hashOfToken = hashUnder(0x70ce4n)
const hashOfSecret = hashUnder(0x5ec7e7n)
const WORD = 2 ** 32

/** `name`: as recorded, hashed or not. */
export function isInSample(name: string, share: number): boolean {
  return share >= 1 || hashForSample(name).low >>> 0 < share * WORD
}

/** Without a secret, the path itself. With one, 16 hex digits; all recorders need the same secret. */
export function createNaming(secret: string | undefined): (path: Path) => string {
  if (secret === undefined) return path => path
  const hashOfPath = hashUnder(BigInt(`0x${hex(hashOfSecret(secret))}`))
  return path => hex(hashOfPath(path))
}

/** A token names paths and can be used; its name in a recording reveals nothing and cannot be used. */
export function nameOfToken(token: string): string {
  return hex(hashOfToken(token))
}

function hex({ low, high }: KeyHash): string {
  return hexWord(high) + hexWord(low)
}

function hexWord(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}
