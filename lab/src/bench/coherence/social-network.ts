/** What is read and written: people, posts and comments, and how often each is asked for. */
import type { Random } from '../../harness/random.js'

export interface SocialObject {
  readonly kind: 'person' | 'post' | 'comment'
  /** Which write this is: no two are the same but 0, of what was there from the beginning. */
  readonly number: number
  readonly author: string
  readonly text: string
  readonly likes: readonly string[]
}

export const BUCKET = 'network/objects'

const TEXT = 'Somebody went somewhere, saw something there, and has this to say about it. '

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

/** Draws the index of an object. Which objects are popular has nothing to do with their ids. */
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
