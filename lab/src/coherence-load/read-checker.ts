/**
 * Judges reads by the recorded history. What a session must see:
 * - staleness: everything acknowledged longer ago, when the read began, than its mode allows;
 * - monotonic: what the session had seen of this object before the read began, also under an earlier name (a token);
 * - own write: what it had written, once acknowledged;
 * - content: a version is what was written under it.
 */
import type { Position } from '@freshet/protocol'
import type { RecordedHistory } from './recorded-history.js'

export type Promised = 'staleness' | 'monotonic' | 'own write' | 'content'

/** What a session has seen and written. It moves with the session's token. */
export class SessionRecord {
  readonly seen: Map<string, Position>
  readonly wrote: Map<string, Position>

  constructor(other?: SessionRecord) {
    this.seen = new Map(other?.seen)
    this.wrote = new Map(other?.wrote)
  }
}

export interface OpenRead {
  readonly id: string
  readonly record: SessionRecord
  readonly what: string
  /** The largest age that the read allows. */
  readonly ageMs: number
  readonly beganMs: number
  readonly least: readonly (readonly [Promised, Position])[]
}

/** The result of a read: undefined if there is no such object. */
export interface Found {
  readonly version: Position
  readonly number: number
}

export class ReadChecker {
  reads = 0
  readonly violations: Map<Promised, number> = new Map()
  /** The first violations, for the report. */
  readonly traces: string[] = []
  readonly #history: RecordedHistory

  constructor(history: RecordedHistory) {
    this.#history = history
  }

  get violationCount(): number {
    return [...this.violations.values()].reduce((sum, count) => sum + count, 0)
  }

  begin(id: string, record: SessionRecord, what: string, ageMs: number, beganMs: number): OpenRead {
    return {
      id,
      record,
      what,
      ageMs,
      beganMs,
      least: [
        ['staleness', this.#history.dueAt(id, beganMs - ageMs)],
        ['monotonic', record.seen.get(id) ?? 0],
        ['own write', record.wrote.get(id) ?? 0],
      ],
    }
  }

  end(read: OpenRead, found: Found | undefined, served: unknown, nowMs: number): void {
    this.reads++
    const changedAt = found?.version ?? this.#absentSince(read)
    for (const [promised, position] of read.least) {
      if (changedAt === undefined || changedAt < position) this.#object(promised, position, read, found, served, nowMs)
    }
    const written = found && this.#history.numberAt(found.version)
    if (written !== undefined && written !== found?.number) this.#object('content', 0, read, found, served, nowMs)
    const { seen } = read.record
    seen.set(read.id, Math.max(changedAt ?? 0, seen.get(read.id) ?? 0))
  }

  /** An absent object has no version: the first delete that explains the absence counts, if there is one. */
  #absentSince({ id, least }: OpenRead): Position | undefined {
    const highest = Math.max(...least.map(([, position]) => position))
    const since = this.#history.deleteSince(id, highest)
    return since === 0 ? highest : since
  }

  #object(
    promised: Promised,
    least: Position,
    { id, what, beganMs }: OpenRead,
    found: Found | undefined,
    served: unknown,
    nowMs: number,
  ): void {
    this.violations.set(promised, 1 + (this.violations.get(promised) ?? 0))
    if (this.traces.length >= 5) return
    const got = found === undefined ? 'nothing' : `version ${found.version}`
    this.traces.push(
      `${promised} broken: ${what} of ${id} got ${got}, should have got ${least} or later. ` +
        `It took from ${beganMs.toFixed(0)} to ${nowMs.toFixed(0)} ms; ${JSON.stringify(served)}.`,
    )
  }
}
