/**
 * The paper's algorithms 1 to 3 to the letter, over exact sets instead of Bloom filters. No id is known by chance, so
 * every denial comes from the algorithms. This shows why ForgetfulBloom departs from them.
 *
 * Filters stand newest first: future, present, past 1 to past N.
 */
import { expectedRate, type FilterSize } from '@freshet/bloom'

export interface LiteralOptions {
  /** m and k, for the estimate on which adaptation is based. */
  readonly size: FilterSize
  /** N */
  readonly pastFilters: number
  /** t */
  readonly refreshMs: number
  /** Whether the oldest filter is checked alone when N > 1 too, as the text says, or not, as algorithm 2 is printed. */
  readonly oldestAlone: boolean
  /** Algorithm 3, if given. */
  readonly targetRate?: number
}

const ADAPT_EVERY_MS = 1000
const STEP_MS = 1000
// Not in the paper: while the future filter alone errs too often, doubling does not help, and would go on every second.
const FILTERS_MAX = 256

export class LiteralForgetful {
  refreshMs: number
  #filters: Set<number>[]
  #refreshedMs = 0
  #adaptedMs = 0
  readonly #options: LiteralOptions

  constructor(options: LiteralOptions) {
    this.#options = options
    this.refreshMs = options.refreshMs
    this.#filters = Array.from({ length: options.pastFilters + 2 }, () => new Set<number>())
  }

  get filters(): number {
    return this.#filters.length
  }

  insert(id: number, nowMs: number): void {
    if (this.has(id, nowMs)) return
    this.#filters[0]!.add(id)
    this.#filters[1]!.add(id)
  }

  has(id: number, nowMs: number): boolean {
    this.advance(nowMs)
    const known = this.#filters.map(filter => filter.has(id))
    if (known[0]) return true
    for (let i = 1; i + 1 < known.length; i++) if (known[i] && known[i + 1]) return true
    return (this.#options.oldestAlone || known.length === 3) && known.at(-1)!
  }

  /** Both background threads, in the order in which they are due. */
  advance(nowMs: number): void {
    for (;;) {
      const refreshMs = this.#refreshedMs + this.refreshMs
      const adaptMs =
        this.#options.targetRate === undefined ? Number.POSITIVE_INFINITY : this.#adaptedMs + ADAPT_EVERY_MS
      if (Math.min(refreshMs, adaptMs) > nowMs) return
      if (refreshMs <= adaptMs) this.#refresh(refreshMs)
      else this.#adapt(adaptMs)
    }
  }

  estimatedRate(): number {
    const rates = this.#filters.map(filter => expectedRate(this.#options.size, filter.size))
    let never = (1 - rates[0]!) * (1 - rates.at(-1)!)
    for (let i = 1; i + 1 < rates.length; i++) never *= 1 - rates[i]! * rates[i + 1]!
    return 1 - never
  }

  #refresh(nowMs: number): void {
    this.#refreshedMs = nowMs
    this.#filters.pop()
    this.#filters.unshift(new Set())
  }

  #adapt(nowMs: number): void {
    this.#adaptedMs = nowMs
    const rate = this.estimatedRate()
    if (rate >= 0.9 * this.#options.targetRate!) this.#scaleUp()
    else if (rate <= 0.1 * this.#options.targetRate!) this.#scaleDown()
  }

  /** "by adding the extra Bloom filters to the set of past Bloom filters", empty. */
  #scaleUp(): void {
    const filters = Math.min(FILTERS_MAX, 2 * this.#filters.length)
    while (this.#filters.length < filters) this.#filters.push(new Set())
    this.refreshMs = Math.max(STEP_MS, this.refreshMs - STEP_MS)
  }

  /** Never below three filters, and at three t stays as well: figure 13 begins with an empty filter, and t is 11 s until 16 s. */
  #scaleDown(): void {
    if (this.#filters.length === 3) return
    this.#filters.pop()
    this.refreshMs += STEP_MS
  }
}
