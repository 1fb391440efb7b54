/**
 * Collects one page of a query from entries that arrive in the requested order, or in any order. In the requested order, each
 * entry is either in place or in a run of entries that is sorted here. In any order, only the best are kept, so a page never
 * needs much memory.
 */
import {
  type Candidate,
  candidateOf,
  comparePlaces,
  cursorAt,
  matches,
  type Order,
  placeOf,
} from '@freshet/core/queries'
import type { QueryPage, StoredEntry } from '@freshet/core/store'
import { type FreshetError, type Place, QUERY_LIMIT_DEFAULT, type Query } from '@freshet/protocol'

export interface PageCollectorOptions {
  readonly query: Query
  readonly order: Order
  /** Where the previous page ended. */
  readonly start: Place | undefined
  readonly isSorted: boolean
  readonly scanMax: number
  readonly tooBroad: () => FreshetError
}

interface Found {
  readonly entry: StoredEntry
  readonly candidate: Candidate
  readonly place: Place
}

export class PageCollector {
  readonly #options: PageCollectorOptions
  readonly #limit: number
  #found: Found[] = []
  #run: Found[] = []
  #runName: string | undefined
  #examined = 0

  constructor(options: PageCollectorOptions) {
    this.#options = options
    this.#limit = options.query.limit ?? QUERY_LIMIT_DEFAULT
  }

  /** Whether an entry of this run can still be on the page, or prove that there is a next page. */
  wants(run: string | undefined): boolean {
    if (!this.#options.isSorted) return true
    if (run === undefined || run !== this.#runName) this.#endRun()
    return this.#found.length <= this.#limit
  }

  /** Throws QUERY_TOO_BROAD. */
  add(entry: StoredEntry, run: string | undefined): void {
    const { query, order, start, isSorted, scanMax, tooBroad } = this.#options
    if (++this.#examined > scanMax) throw tooBroad()
    this.#runName = run
    const candidate = candidateOf(entry)
    if (!matches(query.where, candidate)) return
    const place = placeOf(order, candidate)
    if (start !== undefined && comparePlaces(order, place, start) <= 0) return
    const found = { entry, candidate, place }
    if (isSorted && run !== undefined) this.#run.push(found)
    else this.#found.push(found)
    if (!isSorted && this.#found.length > 4 * (this.#limit + 1)) this.#keepBest()
  }

  finish(): Pick<QueryPage, 'entries' | 'next' | 'examined'> {
    if (this.#options.isSorted) this.#endRun()
    else this.#keepBest()
    const page = this.#found.slice(0, this.#limit)
    const next = this.#found.length > this.#limit ? cursorAt(this.#options.order, page.at(-1)!.candidate) : undefined
    return {
      entries: page.map(({ entry }) => entry),
      ...(next !== undefined && { next }),
      examined: this.#examined,
    }
  }

  #endRun(): void {
    this.#runName = undefined
    if (this.#run.length === 0) return
    this.#found.push(...this.#sorted(this.#run))
    this.#run = []
  }

  #keepBest(): void {
    this.#found = this.#sorted(this.#found).slice(0, this.#limit + 1)
  }

  #sorted(found: Found[]): Found[] {
    return found.sort((a, b) => comparePlaces(this.#options.order, a.place, b.place))
  }
}
