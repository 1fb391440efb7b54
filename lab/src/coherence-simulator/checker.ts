/**
 * Judges every read by the true history. What a session must see:
 * - staleness: everything visible longer ago than the mode allows, when the read began;
 * - position: everything up to the session's position, when it chose the URL;
 * - monotonic: what the session had seen of this path before the read began;
 * - own write: what it had written, once acknowledged.
 *
 * "Visible" is stricter than "acknowledged": a commit is visible before its writer gets the acknowledgement.
 */
import type { ReadMode } from '@freshet/core/coherence'
import type { Path, Position } from '@freshet/protocol'
import type { TrueHistory } from './true-history.js'
import type { Reply } from './wire.js'

export type Promised = 'staleness' | 'position' | 'monotonic' | 'own write'

export interface Violation {
  readonly promised: Promised
  readonly trace: string
}

/** What a session has seen and written, as far as it can know; it moves with the session's token. */
export class SessionRecord {
  readonly seen: Map<Path, Position>
  readonly wrote: Map<Path, Position>

  constructor(other?: SessionRecord) {
    this.seen = new Map(other?.seen)
    this.wrote = new Map(other?.wrote)
  }

  noteWrite(path: Path, position: Position): void {
    this.wrote.set(path, Math.max(position, this.wrote.get(path) ?? 0))
  }
}

/** A read under way, and what it must reflect. */
export interface OpenRead {
  readonly reader: string
  readonly path: Path
  readonly mode: ReadMode
  readonly beganMs: number
  readonly record: SessionRecord
  /** For each promise: the read must return a version at least as late as the path's last change up to this position. */
  readonly leastStale: Position
  readonly leastSeen: Position
  readonly leastWritten: Position
}

export interface Answered {
  readonly at: Position | undefined
  readonly reply: Reply
  /** The session's position when it chose the URL. */
  readonly position: Position
}

export class Checker {
  reads = 0
  readonly violations: Map<Promised, number> = new Map()
  first: Violation | undefined
  readonly #history: TrueHistory

  constructor(history: TrueHistory) {
    this.#history = history
  }

  get violationCount(): number {
    return [...this.violations.values()].reduce((sum, count) => sum + count, 0)
  }

  begin(
    reader: string,
    path: Path,
    mode: ReadMode,
    stalenessMs: number,
    record: SessionRecord,
    nowMs: number,
  ): OpenRead {
    const ageMs = mode === 'current' ? 0 : typeof mode === 'object' ? mode.withinMs : stalenessMs
    const leastStale = this.#history.positionAt(nowMs - ageMs)
    const leastSeen = record.seen.get(path) ?? 0
    const leastWritten = record.wrote.get(path) ?? 0
    return { reader, path, mode, beganMs: nowMs, record, leastStale, leastSeen, leastWritten }
  }

  end(read: OpenRead, answered: Answered, nowMs: number): void {
    this.reads++
    const { content } = answered.reply
    if (content.kind !== 'object') throw new TypeError('A read got an answer that is not an object.')
    const { changedAt } = content
    if (read.mode !== 'any') this.#check(read, answered, changedAt, nowMs)
    const { seen } = read.record
    seen.set(read.path, Math.max(changedAt, seen.get(read.path) ?? 0))
  }

  #check(read: OpenRead, answered: Answered, changedAt: Position, nowMs: number): void {
    const { path, leastStale, leastSeen, leastWritten } = read
    const least: readonly [Promised, Position][] = [
      ['staleness', this.#history.stateAt(path, leastStale).changedAt],
      ['position', this.#history.stateAt(path, answered.position).changedAt],
      ['monotonic', leastSeen],
      ['own write', leastWritten],
    ]
    for (const [promised, position] of least) {
      if (changedAt >= position) continue
      this.violations.set(promised, 1 + (this.violations.get(promised) ?? 0))
      this.first ??= { promised, trace: trace(promised, position, read, answered, changedAt, nowMs) }
    }
  }
}

function trace(
  promised: Promised,
  least: Position,
  read: OpenRead,
  { at, reply, position }: Answered,
  changedAt: Position,
  nowMs: number,
): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(3)} s`
  return [
    `${promised} broken: ${read.reader} read ${read.path}${at === undefined ? '' : `?at=${at}`} (${JSON.stringify(read.mode)})`,
    `  began at ${seconds(read.beganMs)} with position ${position}, ended at ${seconds(nowMs)}`,
    `  got the change at ${changedAt}, read from the store at ${seconds(reply.readMs)}, served by ${reply.servedBy}`,
    `  but should have got the one at ${least}, or later`,
  ].join('\n')
}
