/**
 * The truth about the accounts and rates that `run-truth.ts` writes to. Every account has had as many additions as the log has
 * writes to accounts, and the same holds for rates. So a result itself shows whether its rows are of one state, and the log, read
 * at the end, shows whether both tables had that state at the same time.
 */
export interface Observed {
  /** The number of additions that its accounts show, if the result includes accounts; all accounts are equal. */
  readonly accounts?: number
  readonly rates?: number
}

export interface TruthRow {
  readonly accountsMin?: number
  readonly accountsMax?: number
  readonly ratesMin?: number
  readonly ratesMax?: number
  /** True if the result covers all rows. */
  readonly isWhole: boolean
}

/** Undefined: the rows are of several states. */
function observe({ accountsMin, accountsMax, ratesMin, ratesMax, isWhole }: TruthRow): Observed | undefined {
  if (!isWhole || accountsMin !== accountsMax || ratesMin !== ratesMax) return undefined
  return {
    ...(accountsMin === undefined ? {} : { accounts: accountsMin }),
    ...(ratesMin === undefined ? {} : { rates: ratesMin }),
  }
}

/** What one session has seen, in the order of its results. */
export class SessionHistory {
  readonly #pairs = new Set<string>()
  #accounts = 0
  #rates = 0
  results = 0
  inconsistent = 0
  backwards = 0

  take(row: TruthRow): void {
    this.results++
    const observed = observe(row)
    if (observed === undefined) {
      this.inconsistent++
      return
    }
    const { accounts = this.#accounts, rates = this.#rates } = observed
    if (accounts < this.#accounts || rates < this.#rates) this.backwards++
    this.#accounts = Math.max(accounts, this.#accounts)
    this.#rates = Math.max(rates, this.#rates)
    if (observed.accounts !== undefined && observed.rates !== undefined)
      this.#pairs.add(`${observed.accounts},${observed.rates}`)
  }

  /** The number of pairs of table states that never existed at the same time. */
  impossiblePairs(log: readonly ('accounts' | 'rates')[]): number {
    const counts = { accounts: 0, rates: 0 }
    const possible = new Set(['0,0'])
    for (const table of log) {
      counts[table]++
      possible.add(`${counts.accounts},${counts.rates}`)
    }
    return [...this.#pairs].filter(pair => !possible.has(pair)).length
  }
}
