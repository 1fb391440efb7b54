/** The objects of the load, every fifth of which is large enough to be compressed in transit. */
import type { Random } from '../harness/random.js'

export interface Item {
  /** Unique, so that it identifies the write. */
  readonly number: number
  readonly padding: string
}

export const BUCKET = 'load/items'
export const OBJECT_IDS: readonly string[] = Array.from({ length: 50 }, (_, i) => `item${i}`)
/** Objects that are read together. */
export const GROUPS: readonly (readonly string[])[] = Array.from({ length: 5 }, (_, i) =>
  OBJECT_IDS.slice(10 * i, 10 * i + 10),
)

const PADDING_LARGE = 'large enough to be compressed, '.repeat(64)
let next = 1

export function itemOf(random: Random): Item {
  return { number: next++, padding: random.below(5) === 0 ? PADDING_LARGE : '' }
}
