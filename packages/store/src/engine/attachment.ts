/**
 * Which database a server has connected to, and whether it still has everything that it acknowledged.
 *
 * * A standby that takes over may lack the last moments, and so may a machine that did not flush, or a backup that was
 * restored. Whatever has seen the lost part (a server, a cache, a session) must not continue from there: it would take copies
 * of data that no longer exists for current. So the log is a different one from then on: it has a new id, and begins at the
 * position where numbering continues. Followers get LOG_TRIMMED and rebuild their sketch; sessions drop what they have.
 *
 * Whichever server makes a connection first examines the database, before any other request on that connection. It decides in
 * one transaction that has locked the head; if several servers connect at once, one of them acts and the others find it done:
 * - *start over*, if something was lost or may have been lost: a position that this server knows is missing; the database is
 *   not the one on which the head was last used, or its tables were restored (`isSameEngine`); it was restarted and does not
 *   flush what it acknowledges (`mayHaveLost`); or it was restarted and the first server to connect was not following it at
 *   that time: its files may have been restored.
 * - *skip*: it was restarted, and has lost nothing that a server that was following it knows of. Positions continue from the
 *   time of day (0005), because a position is never given twice, whatever was lost unnoticed.
 * - *go on*: the same database, not restarted.
 *
 * How a lost position is distinguished from one that was reached: skipped positions are recorded as stretches of the log
 * (`skipped`). No commit ever had a position within a stretch. So a server that knows such a position has it from a state
 * that is gone, even if other servers connected earlier and made positions continue beyond the ones it knows.
 */
import { type LogPlace, type Position, positionAtTime } from '@freshet/core/store'

/** What a server has seen. The log is '' before there is any log. */
export interface Known extends LogPlace {
  /** From an earlier process. It may lack the last moments: it can prove that something was lost, never that nothing was. */
  readonly isRecalled?: boolean
}

/** `recalled`: recorded by an earlier process, if there was one. */
export function knownFrom(recalled: LogPlace | undefined): Known {
  return recalled === undefined ? { log: '', position: 0 } : { ...recalled, isRecalled: true }
}

export interface FoundPlace extends LogPlace {
  readonly trimmedTo: Position
  /** Whether the known position was skipped; undefined where skipped positions are not recorded. */
  readonly isSkipped?: boolean
}

/** What the database holds, read in one state. */
export interface Found extends FoundPlace {
  /** The database and tables on which the head was last used: not a standby that took over, nor a restored dump. */
  readonly isSameEngine: boolean
  /** The database was not restarted since then. */
  readonly isSameRun: boolean
  /** After a restart, it may have lost what it had acknowledged. */
  readonly mayHaveLost: boolean
}

export interface Attached extends Known {
  /** Changes if the database is a different one, or was restarted. */
  readonly run: string
}

export type Verdict = 'go-on' | 'skip' | 'start-over'

export function judge(found: Found, known: Known): Verdict {
  if (!found.isSameEngine || isLost(found, known)) return 'start-over'
  if (found.isSameRun) return 'go-on'
  const wasFollowing = known.log !== '' && known.isRecalled !== true
  return found.mayHaveLost || !wasFollowing ? 'start-over' : 'skip'
}

/**
 * Where positions continue. Not further ahead of the time of day than before, since that is all that is left if everything is
 * lost.
 */
export function positionAfter(verdict: Verdict, found: Found, known: Known): Position {
  const reached = verdict === 'start-over' ? Math.max(found.position, known.position) + 1 : found.position
  return Math.max(reached, positionAtTime(Date.now()))
}

/**
 * A server that knows another log must not know any position beyond the beginning of this one: it would take later entries
 * for those that it has seen.
 */
export function isLost(found: FoundPlace, known: LogPlace): boolean {
  const { log, position, trimmedTo, isSkipped = false } = found
  if (known.log === '') return false
  return known.log === log ? known.position > position || isSkipped : known.position >= trimmedTo
}

/** What one server knows of the database that it is connected to, over all its connections. */
export class Attachment {
  readonly #onAnother: () => void
  #attached: Attached
  #position: Position

  /** `onAnother` must end all connections to the previous database. */
  constructor(attached: Attached, onAnother: () => void) {
    this.#attached = attached
    this.#position = attached.position
    this.#onAnother = onAnother
  }

  get log(): string {
    return this.#attached.log
  }

  get known(): Known {
    return { log: this.log, position: this.#position }
  }

  /** The database has reported this position. */
  learn(position: Position): void {
    if (position > this.#position) this.#position = position
  }

  /** The database has reported a position before an earlier one: its tables may have been restored. Connections check again. */
  doubt(): void {
    this.#onAnother()
  }

  /** A connection was made, and this is the database that it reached. */
  attach(attached: Attached): void {
    const { run, log } = this.#attached
    this.#attached = attached
    this.learn(attached.position)
    if (attached.run !== run || attached.log !== log) this.#onAnother()
  }
}
