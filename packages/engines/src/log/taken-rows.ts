/** The rows that a read has taken since it pinned the mirror, each once, so that repeating the read fetches nothing again. */
import { compareUtf8, type Key, type StoredValue, type Version } from '@freshet/core/store'
import type { Bound, EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import { readEntry, spellEntry } from './log-record.js'
import type { Rows } from './log-storage.js'
import { type Keyed, Stretch } from './stretch.js'

const ROWS_PER_READ_MAX = 1000

export class TakenRows {
  readonly values: Map<Key, StoredValue | undefined> = new Map()
  readonly versions: Map<Key, Version | undefined> = new Map()
  readonly indexes: Map<Key, Buffer | undefined> = new Map()
  readonly tags: Map<string, Version | undefined> = new Map()
  readonly #rows: Rows
  readonly #pages = new Map<string, Stretch<KeyedValue>>()
  readonly #entries = new Map<string, Stretch<Keyed>>()
  #times = 0

  constructor(rows: Rows) {
    this.#rows = rows
  }

  /** How often something was taken. */
  get times(): number {
    return this.#times
  }

  noteTaken(): void {
    this.#times++
  }

  /** Objects of a bucket, up to the end of a range. */
  pages(bucket: Key, range: KeyRange): Stretch<KeyedValue> {
    const { isDescending } = range
    const { to } = boundsOf(range)
    const name = JSON.stringify([bucket, isDescending, to.key, to.isIncluded])
    return this.#stretch(this.#pages, name, orderOfKeys(isDescending), (from, limit) =>
      this.#rows.page(bucket, { ...range, ...(isDescending ? { high: from } : { low: from }), limit }),
    )
  }

  /** Entries of an index, up to the end of a range. */
  entries(range: EntriesRange): Stretch<Keyed> {
    const { low, high, isDescending } = range
    const name = `${isDescending} ${low.toString('hex')} ${high.toString('hex')}`
    return this.#stretch(this.#entries, name, orderOfEntries(isDescending), async ({ key, isIncluded }, limit) => {
      const after = isIncluded ? undefined : readEntry(key)
      const found = await this.#rows.entries({ low, high, after, isDescending, limit })
      return found.map(entry => ({ key: spellEntry(entry) }))
    })
  }

  #stretch<Row extends Keyed>(
    kept: Map<string, Stretch<Row>>,
    name: string,
    compare: Order,
    read: (from: Bound, limit: number) => Promise<readonly Row[]>,
  ): Stretch<Row> {
    const known = kept.get(name)
    if (known !== undefined) return known
    const fetch = async (from: Bound, limit: number) => {
      const found = await read(from, limit)
      this.noteTaken()
      return found
    }
    const stretch = new Stretch({ compare, fetch, rowsMax: ROWS_PER_READ_MAX })
    kept.set(name, stretch)
    return stretch
  }
}

export type Order = (a: string, b: string) => number

/** In the order of reading. */
export function boundsOf({ low, high, isDescending }: KeyRange): { readonly from: Bound; readonly to: Bound } {
  return isDescending ? { from: high, to: low } : { from: low, to: high }
}

export function orderOfKeys(isDescending: boolean): Order {
  return isDescending ? (a, b) => compareUtf8(b, a) : compareUtf8
}

export function orderOfEntries(isDescending: boolean): Order {
  return isDescending ? (a, b) => compareBytes(b, a) : compareBytes
}

function compareBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
