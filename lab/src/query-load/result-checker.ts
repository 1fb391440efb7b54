/**
 * Judges the results of queries. A result must be exactly the query's result at some position, and that position must include
 *
 * - staleness: everything acknowledged longer ago, when the read began, than its mode allows;
 * - monotonic: everything shown by earlier results of the same session;
 * - own write: everything that the session had written, once acknowledged.
 *
 * A read is judged once all writes that it can have seen are known: writes are visible before their acknowledgements.
 */
import type { Position } from '@freshet/protocol'
import type { AskedQuery } from './asked-queries.js'
import { type KnownWrite, KnownWrites } from './known-writes.js'
import { TrueResults } from './true-results.js'

export type Promised = 'staleness' | 'monotonic' | 'own write'

/** What a session has seen and written; it moves with the session's token. */
export class SessionRecord {
  /** A read that is judged later still counts for reads that began after it ended. */
  seen: Position = 0
  wrote: Position = 0

  constructor(other?: SessionRecord) {
    if (other) Object.assign(this, { seen: other.seen, wrote: other.wrote })
  }
}

export interface OpenRead {
  readonly query: number
  readonly record: SessionRecord
  readonly what: string
  readonly beganMs: number
  readonly least: Readonly<Record<Promised, Position>>
}

interface EndedRead extends OpenRead {
  readonly digest: string
  readonly served: unknown
  /** The latest position known to be acknowledged when the read ended. */
  readonly latest: Position
  readonly endedMs: number
}

const TRACES_MAX = 5

export class ResultChecker {
  readonly writes: KnownWrites
  readonly #queries: readonly AskedQuery[]
  readonly #results: TrueResults
  #waiting: EndedRead[] = []
  reads = 0
  stale = 0
  readonly traces: string[] = []

  constructor(queries: readonly AskedQuery[], other?: { readonly writes: KnownWrites; readonly results: TrueResults }) {
    this.#queries = queries
    this.#results = other?.results ?? new TrueResults(queries)
    this.writes = other?.writes ?? new KnownWrites((write: KnownWrite) => this.#results.apply(write))
  }

  /** Another checker, for other reads of the same writes. */
  beside(): ResultChecker {
    return new ResultChecker(this.#queries, { writes: this.writes, results: this.#results })
  }

  begin(query: number, record: SessionRecord, what: string, ageMs: number, beganMs: number): OpenRead {
    const { seen, wrote } = record
    const least = { staleness: this.writes.dueAt(beganMs - ageMs), monotonic: seen, 'own write': wrote }
    return { query, record, what, beganMs, least }
  }

  /** `version` is the version in the result: it has shown that much, and later results must not be older. */
  end(read: OpenRead, digest: string, version: Position, served: unknown, endedMs: number): void {
    this.#waiting.push({ ...read, digest, served, endedMs, latest: Math.max(version, this.writes.latest) })
    this.reads++
    this.judge()
  }

  /** Judges all reads that can be judged by now. Call it once more at the end. */
  judge(): void {
    if (this.#waiting.length === 0) return
    const settled = this.writes.isQuiet ? Number.POSITIVE_INFINITY : this.writes.settledTo
    let judged = 0
    while (judged < this.#waiting.length && this.#waiting[judged]!.latest <= settled) {
      this.#judge(this.#waiting[judged++]!)
    }
    if (judged > 0) this.#waiting = this.#waiting.slice(judged)
  }

  #judge(read: EndedRead): void {
    const { query, digest, record, least } = read
    const demanded = Math.max(...Object.values(least))
    const since = this.#results.since(query, digest, demanded)
    if (since === undefined) this.#object(read, demanded)
    else record.seen = Math.max(record.seen, since)
  }

  #object({ query, what, beganMs, endedMs, digest, served, least }: EndedRead, demanded: Position): void {
    this.stale++
    if (this.traces.length >= TRACES_MAX) return
    const { name, options } = this.#queries[query]!
    const broken = Object.entries(least).filter(([, position]) => position === demanded)
    this.traces.push(
      `${broken.map(([promised]) => promised).join(', ')} broken: ${what} of ${name} ${JSON.stringify(options)} was never ` +
        `this at ${demanded} or later: ${digest.slice(0, 300)}. It took from ${beganMs.toFixed(0)} to ` +
        `${endedMs.toFixed(0)} ms; ${JSON.stringify(served)}.`,
    )
  }
}
