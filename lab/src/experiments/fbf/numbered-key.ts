/**
 * Keys made of two numbers: which kind, and which of its kind. Millions of probes need keys that cost next to nothing.
 * The array is the same one each time: a filter reads it at once, and nobody else may keep it.
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
