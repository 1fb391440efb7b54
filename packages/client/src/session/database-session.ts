/** `db.session`: how far this reader has got, to look at and to hand on. */
import type { ReadMode } from '@freshet/core/coherence'
import type { Position } from '@freshet/protocol'
import { Deadline, ofReading } from '../http/deadline.js'
import type { SessionRecorder } from '../recording/session-recorder.js'
import type { Refresher } from './refresher.js'
import type { TrackedSession } from './tracked-session.js'

export interface DatabaseSessionOptions {
  readonly tracked: TrackedSession
  readonly refresher: Refresher
  readonly read: ReadMode
  readonly recorder: SessionRecorder | undefined
  readonly timeoutMs: number
  readonly closed: AbortSignal
}

/** `db.session`: how far this reader has got, to look at and to hand on. */
export class DatabaseSession {
  readonly #options: DatabaseSessionOptions

  constructor(options: DatabaseSessionOptions) {
    this.#options = options
  }

  /** No read is older than this. */
  get position(): Position {
    return this.#options.tracked.core.position
  }

  /**
   * The session as text: `connect(url, { token })` in another tab, device or server goes on from here, and reads nothing
   * older. It is no secret and gives no rights. Take it when you hand it on, since it changes with every write.
   */
  get token(): string {
    const { token } = this.#options.tracked.core
    this.#options.recorder?.handedOn(token)
    return token
  }

  /** How reads are done that do not say otherwise. */
  get read(): ReadMode {
    return this.#options.read
  }

  /** How many milliseconds others' writes may take to be seen by reads of mode 'session'. */
  get staleness(): number {
    return this.#options.tracked.core.stalenessMs
  }

  /** The id of the change log that the positions are of. */
  get log(): string | undefined {
    return this.#options.tracked.core.log
  }

  /** Learns of everything acknowledged before the call: no read after it is older. */
  async refresh({ signal, timeoutMs }: { signal?: AbortSignal; timeoutMs?: number } = {}): Promise<void> {
    const { refresher, closed } = this.#options
    const deadline = new Deadline({
      timeoutMs: timeoutMs ?? this.#options.timeoutMs,
      what: 'Asking for what has changed',
      signals: [closed, signal],
    })
    try {
      await refresher.refresh(deadline.signal).catch(error => {
        throw ofReading(error)
      })
    } finally {
      deadline.end()
    }
  }
}
