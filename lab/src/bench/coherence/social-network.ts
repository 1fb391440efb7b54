/** The data that is read and written: people, posts and comments, and how often each is read. */
import type { Random } from '../../harness/random.js'

export interface SocialObject {
  readonly kind: 'person' | 'post' | 'comment'
  /** The number of the write: unique, except for 0, which marks the initial objects. */
  readonly number: number
  readonly author: string
  readonly text: string
  readonly likes: readonly string[]
}

export const BUCKET = 'network/objects'

const TEXT = 'Our friend went on a trip, saw many things, and has this to say about them. '

export function idOf(index: number): string {
  return `o${index}`
}

/** Some 500 bytes. */
export function socialObject(index: number, number: number): SocialObject {
  const kind = index % 10 === 0 ? 'person' : index % 10 < 4 ? 'post' : 'comment'
  const likes = Array.from({ length: 8 }, (_, i) => idOf((index * 7 + i * 10) % 300))
  return { kind, number, author: idOf(index - (index % 10)), text: TEXT.repeat(4), likes }
}

export type Spread = 'zipf' | 'uniform'

/** As in YCSB; the most popular of 3,000 objects gets one request in nine. */
const ZIPF_EXPONENT = 0.99

/** Draws the index of an object. The popularity of an object does not depend on its id. */
export function createChoice(spread: Spread, objects: number, random: Random): (random: Random) => number {
  if (spread === 'uniform') return own => own.below(objects)
  const order = random.fork('popularity').shuffle(Array.from({ length: objects }, (_, i) => i))
  const upTo = new Float64Array(objects)
  let sum = 0
  for (let rank = 0; rank < objects; rank++) {
    sum += 1 / (rank + 1) ** ZIPF_EXPONENT
    upTo[rank] = sum
  }
  return own => order[rankAt(upTo, own.float() * sum)]!
}

function rankAt(upTo: Float64Array, point: number): number {
  let low = 0
  let high = upTo.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (upTo[middle]! <= point) low = middle + 1
    else high = middle
  }
  return low
}
