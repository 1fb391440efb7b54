/** The objects of the thesis's benchmarks: people with friends and posts. */
import type { Random } from '../../harness/random.js'

export interface Profile {
  /** The number of the write, by which the history identifies it. */
  readonly number: number
  readonly name: string
  readonly friends: readonly string[]
  readonly posts: readonly string[]
}

const FRIENDS = 10
const POST = 'What a fine day to reload this page once more. '.repeat(4)

export function profileIds(count: number): readonly string[] {
  return Array.from({ length: count }, (_, i) => `person${i}`)
}

/** Some 1,000 bytes. */
export function profileOf(id: string, number: number, ids: readonly string[], random: Random): Profile {
  return {
    number,
    name: `The person called ${id}`,
    friends: Array.from({ length: FRIENDS }, () => random.pick(ids)),
    posts: Array.from({ length: 4 }, () => POST),
  }
}
