/**
 * Merges the rows of several shards into one stream, and holds only rows that have arrived and are not taken yet. The rows of the
 * shards come one after the other, or, if they are sorted, the smallest of the next rows of all shards comes first. The result is
 * the same as that of `mergeRows` for all rows at once.
 *
 * A shard sorts its rows by itself. If they arrive in another order than the comparison here has, they are refused: merged, they
 * would be in no order at all.
 */
import type { Cell, CellType, Value } from './final-expression.js'
import type { Merge, RowsMerge, WholeMerge } from './merge-rows.js'
import { sqlRefused } from './refusals.js'
import { commonTypes, compareKeys, keysOf, Row } from './row-order.js'

export type StreamedMerge = WholeMerge | RowsMerge

type Rows = readonly (readonly Cell[])[]

/** Undefined if the result must be merged as a whole, as groups are. */
export function streamedMerge(merge: Merge): StreamedMerge | undefined {
  return merge.kind === 'groups' ? undefined : merge
}

export class RowMerger {
  /** The types of the columns selected. */
  readonly types: readonly CellType[]
  readonly #merge: StreamedMerge
  readonly #sources: InTurn | Sorted
  #toSkip: number
  #left: number

  /** `ofShards`: the types of the columns that each shard sends. Throws SHARD_DRIFT. */
  constructor(merge: StreamedMerge, ofShards: readonly (readonly CellType[])[]) {
    const types = commonTypes(ofShards)
    this.types = types.slice(0, merge.width)
    this.#merge = merge
    const isSorted = merge.kind === 'rows' && merge.sortKeys.length > 0
    this.#sources = isSorted ? new Sorted(merge, types, ofShards.length) : new InTurn(ofShards.length)
    this.#toSkip = merge.kind === 'rows' ? merge.offset : 0
    this.#left = (merge.kind === 'rows' ? merge.limit : undefined) ?? Number.POSITIVE_INFINITY
  }

  /** The place of the shard whose next rows are needed. Undefined at the end. */
  get wants(): number | undefined {
    return this.#left === 0 ? undefined : this.#sources.wants
  }

  /** Takes in some next rows of the shard at this place; none if it has no more. Throws SQL_REFUSED. */
  give(place: number, rows: Rows): void {
    this.#sources.give(place, rows)
  }

  /** All rows that are known to be next. Throws SQL_REFUSED. */
  take(): Rows {
    const taken: (readonly Cell[])[] = []
    while (this.#left > 0) {
      const row = this.#sources.take()
      if (row === undefined) break
      if (this.#toSkip > 0) {
        this.#toSkip--
        continue
      }
      this.#left--
      taken.push(row.length === this.#merge.width ? row : row.slice(0, this.#merge.width))
    }
    return taken
  }
}

/** The rows of the first shard, then those of the second, and so on. */
class InTurn {
  readonly #count: number
  #place = 0
  #rows: Rows = []
  #next = 0

  constructor(count: number) {
    this.#count = count
  }

  get wants(): number | undefined {
    return this.#place < this.#count ? this.#place : undefined
  }

  give(place: number, rows: Rows): void {
    if (rows.length === 0) this.#place = place + 1
    this.#rows = rows
    this.#next = 0
  }

  take(): readonly Cell[] | undefined {
    return this.#rows[this.#next++]
  }
}

interface Head {
  readonly place: number
  readonly row: readonly Cell[]
  readonly keys: readonly Value[]
}

class Sorted {
  readonly #merge: RowsMerge
  readonly #types: readonly CellType[]
  /** By place: rows that have arrived and are not among the heads yet. */
  readonly #rows: Rows[]
  readonly #next: number[]
  /** By place: the sort keys of the shard's last row. */
  readonly #last: (readonly Value[] | undefined)[]
  /** The next row of each shard, in order. */
  readonly #heads: Head[] = []
  readonly #missing: Set<number>

  constructor(merge: RowsMerge, types: readonly CellType[], count: number) {
    this.#merge = merge
    this.#types = types
    this.#rows = Array.from({ length: count }, () => [])
    this.#next = Array.from({ length: count }, () => 0)
    this.#last = Array.from({ length: count }, () => undefined)
    this.#missing = new Set(this.#rows.keys())
  }

  get wants(): number | undefined {
    return this.#missing.values().next().value
  }

  give(place: number, rows: Rows): void {
    this.#missing.delete(place)
    this.#rows[place] = rows
    this.#next[place] = 0
    if (rows.length > 0) this.#advance(place)
  }

  take(): readonly Cell[] | undefined {
    if (this.#missing.size > 0) return undefined
    const head = this.#heads.shift()
    if (head) this.#advance(head.place)
    return head?.row
  }

  #advance(place: number): void {
    const row = this.#rows[place]![this.#next[place]!++]
    if (row === undefined) {
      this.#missing.add(place)
      return
    }
    const keys = keysOf(new Row(row, this.#types), this.#merge.sortKeys, this.#merge)
    const last = this.#last[place]
    if (last && this.#compare(last, keys) > 0) throw unsorted()
    this.#last[place] = keys
    this.#insert({ place, row, keys })
  }

  /** Rows with equal keys come in the order of their shards. */
  #insert(head: Head): void {
    let [low, high] = [0, this.#heads.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const other = this.#heads[middle]!
      const order = this.#compare(other.keys, head.keys) || other.place - head.place
      if (order < 0) low = middle + 1
      else high = middle
    }
    this.#heads.splice(low, 0, head)
  }

  #compare(a: readonly Value[], b: readonly Value[]): number {
    return compareKeys(a, b, this.#merge.sortKeys, this.#merge)
  }
}

function unsorted(): Error {
  return sqlRefused('a shard sorts its rows in an order that only its server knows')
}
