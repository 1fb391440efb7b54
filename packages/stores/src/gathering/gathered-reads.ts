/**
 * Single objects that are asked for in one turn of the event loop are read by one statement. What a statement costs the driver
 * and the database, beside what it finds, is more than what one object costs; and a server that is busy has many requests in each turn.
 *
 * Nothing waits for it: what comes alone is asked for in the same turn, alone.
 */
import type { Key, MaybePromise, Position, StoredValue } from '@freshet/core/store'

/** More would not be cheaper, and who waits for a small object would wait for many large ones. */
const KEYS_PER_READ = 32

/**
 * Values, the latest, or from any state that includes `atLeast`. What is not in the map is not there; what cannot be told yet is
 * promised.
 */
export type ReadValues = (
  keys: readonly Key[],
  atLeast: Position | undefined,
) => Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>>

interface Waiting {
  readonly key: Key
  readonly atLeast: Position | undefined
  readonly resolve: (value: MaybePromise<StoredValue | undefined>) => void
  readonly reject: (error: unknown) => void
}

export class GatheredReads {
  readonly #read: ReadValues
  #waiting: Waiting[] = []

  constructor(read: ReadValues) {
    this.#read = read
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ key, atLeast, resolve, reject }) === 1) setImmediate(() => this.#ask())
    })
  }

  #ask(): void {
    const all = this.#waiting
    this.#waiting = []
    for (let from = 0; from < all.length; from += KEYS_PER_READ) {
      this.#askFor(all.length <= KEYS_PER_READ ? all : all.slice(from, from + KEYS_PER_READ))
    }
  }

  #askFor(waiting: readonly Waiting[]): void {
    const keys = waiting.length === 1 ? [waiting[0]!.key] : [...new Set(waiting.map(({ key }) => key))]
    const tell = (found: ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>) => {
      const told = keys.length === waiting.length ? undefined : new Set<Key>()
      for (const { key, resolve } of waiting) {
        resolve(told?.has(key) ? ownCopy(found.get(key)) : found.get(key))
        told?.add(key)
      }
    }
    this.#read(keys, latestOf(waiting)).then(tell, error => {
      for (const { reject } of waiting) reject(error)
    })
  }
}

/** What is recent enough for all. */
function latestOf(waiting: readonly Waiting[]): Position | undefined {
  let latest = 0
  for (const { atLeast } of waiting) {
    if (atLeast === undefined) return undefined
    if (atLeast > latest) latest = atLeast
  }
  return latest
}

/** Who reads a value owns its bytes. */
async function ownCopy(value: MaybePromise<StoredValue | undefined>): Promise<StoredValue | undefined> {
  const found = await value
  return found && { ...found, body: Buffer.from(found.body) }
}
