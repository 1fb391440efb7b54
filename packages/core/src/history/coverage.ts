/**
 * Whether every write is known. Versions only grow, so a read of an object can be judged by the known writes alone, and
 * unknown writes do no harm. Only "it is not there" may always be explained by a deletion that was not recorded. Such a
 * read is judged only where no deletion can be missing: all parts of the server recorded, from before the write that the
 * read missed until after the read ended.
 */
import type { Position } from '@freshet/protocol'
import type { SessionRecord } from './record.js'
import { isInSample } from './recorded-name.js'
import type { Moment, ServerTimes } from './server-times.js'

interface Part {
  readonly session: string
  readonly clock: string
  readonly from: Position
  readonly share: number
}

interface Parts {
  readonly count: number
  readonly known: Map<number, Part>
}

export class Coverage {
  readonly #times: ServerTimes
  readonly #logs = new Map<string, Parts>()

  constructor(times: ServerTimes) {
    this.#times = times
  }

  /** A part that starts again, or that lost lines and continues under another name, covers from its new position on. */
  note({ s: session, c: clock, log, part, pos = 0, share = 1 }: SessionRecord): void {
    if (part === undefined) return
    const [index, count] = part
    const parts = this.#partsOf(log, count)
    const known = parts.known.get(index)
    // A part repeats its session line; what counts is the position from which its lines are present.
    if (known?.session !== session) parts.known.set(index, { session, clock, from: pos, share })
  }

  #partsOf(log: string, count: number): Parts {
    const known = this.#logs.get(log)
    if (known?.count === count) return known
    const parts: Parts = { count, known: new Map() }
    this.#logs.set(log, parts)
    return parts
  }

  /** Whether every change of the path after this position that a reader could have seen by then is known. */
  isComplete(log: string, path: string, after: Position, until: Moment): boolean {
    const parts = this.#logs.get(log)
    if (parts === undefined || parts.known.size < parts.count) return false
    const placed = this.#times.place(until.clock, until.us)
    for (const { clock, from, share } of parts.known.values()) {
      if (from > after || !isInSample(path, share)) return false
      const isKnownUntil = clock === until.clock || placed.hi <= this.#times.knownUntil(clock)
      if (!isKnownUntil) return false
    }
    return true
  }
}
