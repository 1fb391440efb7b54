/**
 * Keys made of two numbers: the kind, and the number within the kind. Millions of probes need keys that cost almost
 * nothing. Every call returns the same array: a filter reads it at once, and no caller may keep it.
 */
const words = new Uint32Array(2)
const bytes = new Uint8Array(words.buffer)

export const INSERTED = 1
export const ABSENT = 2

export function numberedKey(kind: number, number: number): Uint8Array {
  words[0] = kind
  words[1] = number
  return bytes
}
