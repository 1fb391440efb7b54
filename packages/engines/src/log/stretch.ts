/**
 * A stretch of rows in the order of reading, as far as it was read. Reading it again returns the same rows; reading beyond its
 * end extends it. So a read that is repeated against a later state does not fetch its rows again (`one-state.ts`).
 */
import type { Bound } from '@freshet/store/engine'

export interface Keyed {
  readonly key: string
}

export interface Part<Row> {
  readonly rows: readonly Row[]
  /** No more follow. */
  readonly isAll: boolean
}

export interface StretchOptions<Row extends Keyed> {
  /** In the order of reading. */
  compare(a: string, b: string): number
  /** Rows from a bound on; fewer than `limit`: there are no more. */
  fetch(from: Bound, limit: number): Promise<readonly Row[]>
  /** The most rows to fetch at once. */
  readonly rowsMax: number
}

export class Stretch<Row extends Keyed> {
  readonly #options: StretchOptions<Row>
  #start: Bound | undefined
  #rows: Row[] = []
  #isAll = false

  constructor(options: StretchOptions<Row>) {
    this.#options = options
  }

  /** At least `count` rows from a bound on, if there are that many. */
  async from(bound: Bound, count: number): Promise<Part<Row>> {
    if (!this.#covers(bound)) {
      this.#start = bound
      this.#rows = []
      this.#isAll = false
    }
    const at = this.#indexOf(bound)
    while (!this.#isAll && this.#rows.length - at < count) {
      await this.#readOn(Math.min(count - (this.#rows.length - at), this.#options.rowsMax))
    }
    return { rows: at === 0 ? this.#rows : this.#rows.slice(at), isAll: this.#isAll }
  }

  async #readOn(limit: number): Promise<void> {
    const last = this.#rows.at(-1)
    const more = await this.#options.fetch(last ? { key: last.key, isIncluded: false } : this.#start!, limit)
    this.#rows.push(...more)
    this.#isAll = more.length < limit
  }

  #covers({ key, isIncluded }: Bound): boolean {
    if (this.#start === undefined) return false
    const fromStart = this.#options.compare(key, this.#start.key)
    if (fromStart < 0 || (fromStart === 0 && isIncluded && !this.#start.isIncluded)) return false
    const last = this.#rows.at(-1)
    return this.#isAll || fromStart === 0 || (last !== undefined && this.#options.compare(key, last.key) <= 0)
  }

  /** The index of the first row that a bound includes. */
  #indexOf({ key, isIncluded }: Bound): number {
    let [low, high] = [0, this.#rows.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const order = this.#options.compare(this.#rows[middle]!.key, key)
      if (order > 0 || (order === 0 && isIncluded)) high = middle
      else low = middle + 1
    }
    return low
  }
}

/** The first `limit` rows from a bound on, with changes over them: undefined means that the row is deleted. */
export async function changedRows<Row extends Keyed>(
  stretch: Stretch<Row>,
  changes: ReadonlyMap<string, Row | undefined>,
  { from, to, compare, limit }: ChangedRange,
): Promise<readonly Row[]> {
  const within = [...changes].filter(([key]) => isWithin(key, from, to, compare))
  for (let count = limit; ; count += limit) {
    const { rows, isAll } = await stretch.from(from, count)
    if (within.length === 0) return rows.slice(0, limit)
    // Changes after the last row that was read cannot be placed yet.
    const last = isAll ? undefined : rows.at(-1)!.key
    const merged = new Map(rows.map(row => [row.key, row]))
    for (const [key, row] of within) {
      if (row === undefined) merged.delete(key)
      else if (last === undefined || compare(key, last) <= 0) merged.set(key, row)
    }
    if (!isAll && merged.size < limit) continue
    return [...merged.values()].sort((a, b) => compare(a.key, b.key)).slice(0, limit)
  }
}

export interface ChangedRange {
  readonly from: Bound
  /** In the order of reading. */
  readonly to: Bound
  readonly limit: number
  compare(a: string, b: string): number
}

function isWithin(key: string, from: Bound, to: Bound, compare: ChangedRange['compare']): boolean {
  const [begin, end] = [compare(key, from.key), compare(key, to.key)]
  return (begin > 0 || (begin === 0 && from.isIncluded)) && (end < 0 || (end === 0 && to.isIncluded))
}
