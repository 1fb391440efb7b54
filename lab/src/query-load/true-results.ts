/** The exact result of every query at every position. */
import type { Position } from '@freshet/protocol'
import { type AskedQuery, type Entry, resultOf } from './asked-queries.js'
import type { KnownWrite } from './known-writes.js'

/** A result, from the position that produced it until the position of the next. */
interface Stretch {
  readonly from: Position
  readonly digest: string
}

export class TrueResults {
  readonly #queries: readonly AskedQuery[]
  readonly #stretches: readonly Stretch[][]
  /** Sorted by id. */
  #entries: Entry[] = []

  constructor(queries: readonly AskedQuery[]) {
    this.#queries = queries
    this.#stretches = queries.map(query => [{ from: 0, digest: resultOf(query, []) }])
  }

  /** Call it in the order of positions. */
  apply({ position, id, product }: KnownWrite): void {
    const at = this.#entries.findIndex(entry => entry.id >= id)
    const place = at === -1 ? this.#entries.length : at
    const before = this.#entries[place]?.id === id ? this.#entries[place] : undefined
    this.#entries.splice(place, before ? 1 : 0, ...(product ? [{ id, version: position, product }] : []))
    for (const [i, query] of this.#queries.entries()) {
      const isTouched = [before?.product, product].some(each => each !== undefined && query.matches(each))
      if (isTouched) this.#add(i, position, resultOf(query, this.#entries))
    }
  }

  /**
   * The position from which on the result was this digest, if it was at `least` or later: the earliest such position that
   * fits. Undefined if it was not.
   */
  since(query: number, digest: string, least: Position): Position | undefined {
    const stretches = this.#stretches[query]!
    let found: Position | undefined
    for (let i = stretches.length - 1; i >= 0; i--) {
      const { from, digest: own } = stretches[i]!
      if (own === digest) found = from
      // All earlier stretches have ended by then.
      if (from <= least) break
    }
    return found
  }

  #add(query: number, from: Position, digest: string): void {
    const stretches = this.#stretches[query]!
    if (stretches.at(-1)!.digest !== digest) stretches.push({ from, digest })
  }
}
