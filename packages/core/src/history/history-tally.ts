/** A checked history in numbers. */
import type { ReadRecord } from './record.js'
import { StalenessHistogram, type StalenessQuantiles } from './staleness-histogram.js'
import { PROMISES, type Promised } from './violation.js'

export interface ServedFromCount {
  reads: number
  /** Reads for which something newer had been acknowledged when they began. */
  stale: number
  /** Reads that broke a promise. */
  broken: number
}

export interface HistorySummary {
  readonly lines: number
  readonly sessions: number
  readonly writes: number
  readonly reads: number
  /** Reads that were promised something. */
  readonly promisedReads: number
  /** Reads that broke at least one promise; and how often each promise was broken. */
  readonly brokenReads: number
  readonly violations: Readonly<Record<Promised, number>>
  /** For stale reads: how long before the read began something newer had been acknowledged, in ms. */
  readonly staleness: StalenessQuantiles
  readonly servedFrom: Readonly<Record<string, ServedFromCount>>
  readonly handOvers: number
  /** What could not be decided, and why. */
  readonly undecided: {
    /** The clocks of the read and of a write that it missed are not known well enough. */
    readonly times: number
    /** The object was absent, which a deletion that was not recorded would explain. */
    readonly absence: number
    /** No write of the object was recorded: the checker only checked that reads do not go back. */
    readonly withoutWrites: number
    /** Sessions that continue one whose token was not recorded. */
    readonly handOvers: number
    /** Lines whose session has no session line before them. */
    readonly lines: number
    /** Paths and sessions that had to make room: what they saw and wrote before is forgotten. */
    readonly forgotten: number
    /** Reads that are not judged yet. */
    readonly waiting: number
  }
}

export class HistoryTally {
  lines = 0
  sessions = 0
  writes = 0
  handOvers = 0
  handOversUnknown = 0
  withoutSession = 0
  undecidedTimes = 0
  undecidedAbsence = 0
  #reads = 0
  #promisedReads = 0
  #brokenReads = 0
  #withoutWrites = 0
  readonly #staleness = new StalenessHistogram()
  readonly #servedFrom = new Map<string, ServedFromCount>()
  readonly #violations = Object.fromEntries(PROMISES.map(promised => [promised, 0])) as Record<Promised, number>

  /** Counts a read that was judged. Call `isBroken` if it broke a promise. */
  read({ by = 'unknown', within }: ReadRecord, staleMs: number | undefined, hasWrites: boolean): { isBroken(): void } {
    this.#reads++
    if (within !== undefined) this.#promisedReads++
    if (!hasWrites) this.#withoutWrites++
    if (staleMs !== undefined) this.#staleness.add(staleMs)
    const count = this.#servedFromCount(by)
    count.reads++
    if (staleMs !== undefined) count.stale++
    return {
      isBroken: () => {
        this.#brokenReads++
        count.broken++
      },
    }
  }

  violation(promised: Promised): void {
    this.#violations[promised]++
  }

  summary({ waiting, forgotten }: { waiting: number; forgotten: number }): HistorySummary {
    return {
      lines: this.lines,
      sessions: this.sessions,
      writes: this.writes,
      reads: this.#reads,
      promisedReads: this.#promisedReads,
      brokenReads: this.#brokenReads,
      violations: { ...this.#violations },
      staleness: this.#staleness.quantiles(),
      servedFrom: Object.fromEntries([...this.#servedFrom].map(([by, count]) => [by, { ...count }])),
      handOvers: this.handOvers,
      undecided: {
        times: this.undecidedTimes,
        absence: this.undecidedAbsence,
        withoutWrites: this.#withoutWrites,
        handOvers: this.handOversUnknown,
        lines: this.withoutSession,
        forgotten,
        waiting,
      },
    }
  }

  #servedFromCount(by: string): ServedFromCount {
    const known = this.#servedFrom.get(by)
    if (known !== undefined) return known
    const count = { reads: 0, stale: 0, broken: 0 }
    this.#servedFrom.set(by, count)
    return count
  }
}
