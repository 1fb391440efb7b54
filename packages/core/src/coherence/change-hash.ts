/** A path's hash as the wire has it: 16 hex digits, the high word first. */
import type { KeyHash } from '@freshet/bloom'

export function formatHash({ low, high }: KeyHash): string {
  return hexWord(high) + hexWord(low)
}

export function parseHash(text: string): KeyHash | undefined {
  if (!/^[0-9a-f]{16}$/.test(text)) return undefined
  return { low: Number.parseInt(text.slice(8), 16) | 0, high: Number.parseInt(text.slice(0, 8), 16) | 0 }
}

function hexWord(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0')
}

export function formatSeed(seed: bigint): string {
  return seed.toString(16).padStart(16, '0')
}

export function parseSeed(text: string): bigint | undefined {
  return /^[0-9a-f]{16}$/.test(text) ? BigInt(`0x${text}`) : undefined
}
