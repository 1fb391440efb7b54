/** Single objects that are requested in one turn of the event loop are read together, each once. */
import type { Key, MaybePromise, Position, StoredValue } from '@freshet/core/store'
import { SharedTurn } from './shared-turn.js'

/** More would not be cheaper, and the reader of a small object would wait for many large ones. */
const KEYS_PER_READ = 32

/**
 * Values: the latest, or from any state that includes `atLeast`. A key that is not in the map does not exist; a value that is
 * not known yet is a promise.
 */
export type ReadValues = (
  keys: readonly Key[],
  atLeast: Position | undefined,
) => Promise<ReadonlyMap<Key, MaybePromise<StoredValue | undefined>>>

interface Asked {
  readonly key: Key
  readonly atLeast: Position | undefined
}

export class GatheredReads {
  readonly #read: ReadValues
  readonly #turn: SharedTurn<Asked, StoredValue | undefined>

  constructor(read: ReadValues) {
    this.#read = read
    this.#turn = new SharedTurn(asked => this.#readAll(asked), KEYS_PER_READ)
  }

  get(key: Key, atLeast?: Position): Promise<StoredValue | undefined> {
    return this.#turn.ask({ key, atLeast })
  }

  async #readAll(asked: readonly Asked[]): Promise<readonly MaybePromise<StoredValue | undefined>[]> {
    const keys = asked.length === 1 ? [asked[0]!.key] : [...new Set(asked.map(({ key }) => key))]
    const found = await this.#read(keys, latestOf(asked))
    const seen = keys.length === asked.length ? undefined : new Set<Key>()
    return asked.map(({ key }) => {
      const isSeen = seen?.has(key) ?? false
      seen?.add(key)
      return isSeen ? ownCopy(found.get(key)) : found.get(key)
    })
  }
}

/** A position recent enough for all callers. */
function latestOf(asked: readonly Asked[]): Position | undefined {
  let latest = 0
  for (const { atLeast } of asked) {
    if (atLeast === undefined) return undefined
    if (atLeast > latest) latest = atLeast
  }
  return latest
}

/** Each caller owns the bytes that it gets. */
async function ownCopy(value: MaybePromise<StoredValue | undefined>): Promise<StoredValue | undefined> {
  const found = await value
  return found && { ...found, body: Buffer.from(found.body) }
}
