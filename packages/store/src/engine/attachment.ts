/**
 * Which database this is that was connected to, and whether it has all that it has acknowledged.
 *
 * A standby that takes over may lack the last moments, and so may a machine that did not flush, or a copy that was put back. Whoever has seen
 * what is lost, a server, a cache, a session, must not go on from there: copies of what never was would be taken for current. So
 * the log is another one from then on: it has a new id, and begins where positions go on. Followers are told LOG_TRIMMED and build
 * their sketch anew, sessions drop what they have.
 *
 * Whoever makes a connection looks at what is there before anything else is asked on it, and decides, in one transaction that has locked the
 * head, so that of several who come at once one does it and the others find it done:
 * - *start over*, if something was lost or may be: a position that this server knows of is not there; the database is another one than
 *   the head was last used on, or its tables were put back (`isSameEngine`); it was started again and does not flush what it acknowledges
 *   (`mayHaveLost`); or it was started again and no server that was following it at that time says so first: its files may have been put back.
 * - *skip*: it was started again, and has lost nothing that a server knows of which was following it. Positions go on from the time of
 *   day (0005), for a position is never given twice, whatever was lost unnoticed.
 * - *go on*: it is the one that it was.
 *
 * How a position that was lost is told from one that was reached: positions that were passed over are remembered, as stretches of the log
 * (`skipped`). Nobody was ever given a position within one. So a server that knows of one has it from a state that is gone; even if others
 * have connected before it, and have had positions go on beyond what it knows.
 */
import { type LogPlace, type Position, positionAtTime } from '@freshet/core/store'

/** What a server has seen: '' before there is any log. */
export interface Known extends LogPlace {
  /** From an earlier process. It may lack the last moments: by it something is known to be lost, never that nothing is. */
  readonly isRecalled?: boolean
}

/** `recalled`: by an earlier process, if there was one. */
export function knownFrom(recalled: LogPlace | undefined): Known {
  return recalled === undefined ? { log: '', position: 0 } : { ...recalled, isRecalled: true }
}

export interface FoundPlace extends LogPlace {
  readonly trimmedTo: Position
  /** The known position is one that was passed over; where that is not remembered, undefined. */
  readonly isSkipped?: boolean
}

/** What there is, of one state. */
export interface Found extends FoundPlace {
  /** It is the database that the head was last used on, and the same tables: not a standby that took over, nor a dump put back. */
  readonly isSameEngine: boolean
  /** It was not started anew since then. */
  readonly isSameRun: boolean
  /** If it was started anew, it may have lost what it had acknowledged. */
  readonly mayHaveLost: boolean
}

export interface Attached extends Known {
  /** Another if the database is, or was started anew. */
  readonly run: string
}

export type Verdict = 'go-on' | 'skip' | 'start-over'

export function judge(found: Found, known: Known): Verdict {
  if (!found.isSameEngine || isLost(found, known)) return 'start-over'
  if (found.isSameRun) return 'go-on'
  const wasFollowing = known.log !== '' && known.isRecalled !== true
  return found.mayHaveLost || !wasFollowing ? 'start-over' : 'skip'
}

/** Where positions go on; not further ahead of the time of day than they were, for that is all that is left if everything is lost. */
export function positionAfter(verdict: Verdict, found: Found, known: Known): Position {
  const reached = verdict === 'start-over' ? Math.max(found.position, known.position) + 1 : found.position
  return Math.max(reached, positionAtTime(Date.now()))
}

/** Who knows of another log must know of nothing beyond where this one begins: else it would take what follows for what it has seen. */
export function isLost(found: FoundPlace, known: LogPlace): boolean {
  const { log, position, trimmedTo, isSkipped = false } = found
  if (known.log === '') return false
  return known.log === log ? known.position > position || isSkipped : known.position >= trimmedTo
}

/** What one server knows of the database that it is connected to, by however many connections. */
export class Attachment {
  readonly #onAnother: () => void
  #attached: Attached
  #position: Position

  /** `onAnother`: whoever is connected to the one before must not be any more. */
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

  /** The database has told this position. */
  learn(position: Position): void {
    if (position > this.#position) this.#position = position
  }

  /** The database has told a position before one that it had told: its tables may have been restored. Connections look again. */
  doubt(): void {
    this.#onAnother()
  }

  /** A connection was made, and this is what it leads to. */
  attach(attached: Attached): void {
    const { run, log } = this.#attached
    this.#attached = attached
    this.learn(attached.position)
    if (attached.run !== run || attached.log !== log) this.#onAnother()
  }
}
