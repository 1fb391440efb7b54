/** Operations derived from their numbers. Half of the ids have our own form, half are foreign. */
import type { Commit, Key } from '@freshet/core/store'

export const COUNTERS = 1000
const CLIENTS = 1000
/** How many of the last operations may still be retried. */
export const RECENT = 20_000
/** Per client; slightly more than can be retried. */
const UNSETTLED = Math.ceil(RECENT / 2 / CLIENTS) + 3

/** The operations that may still be retried, by their number modulo RECENT. */
export interface Recent {
  readonly positions: Float64Array
  readonly madeMs: Float64Array
}

export function commitOf(number: number, { madeMs }: Recent): Commit {
  const key = keyOf(counterOf(number))
  const id = idOf(number, Math.floor(madeMs[number % RECENT]!))
  const operation = { id, fingerprint: `add ${unitsOf(number)} to ${key}` }
  return { writes: [], adds: [{ key, by: unitsOf(number), decimals: 0 }], operation }
}

function idOf(number: number, madeMs: number) {
  if (number % 2 === 0) return { kind: 'foreign', id: `${mix(number).toString(36)}-${number}` } as const
  const turn = (number - 1) / 2
  const sequence = Math.floor(turn / CLIENTS) + 1
  const client = `client-of-the-lab-${turn % CLIENTS}`
  return { kind: 'own', client, sequence, settledTo: Math.max(0, sequence - UNSETTLED), madeMs } as const
}

export function keyOf(counter: number): Key {
  return `lab/counters/${counter}`
}

export function counterOf(number: number): number {
  return mix(number) % COUNTERS
}

export function unitsOf(number: number): number {
  return 1 + (mix(number + 1) % 9)
}

/** Murmur's finaliser: neighbouring numbers give unrelated results. */
function mix(number: number): number {
  let hash = number | 0
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
