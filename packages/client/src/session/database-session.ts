/** `db.session`: the part of a session that programs see (`core/coherence/session.ts`). */
import type { ReadMode, Session } from '@freshet/core/coherence'
import type { Position } from '@freshet/protocol'
import { Deadline, ofReading } from '../http/deadline.js'
import type { SessionRecorder } from '../recording/session-recorder.js'
import type { Refresher } from './refresher.js'

/** `db.session`: what this reader has seen so far, to inspect and to hand on. */
export interface DatabaseSession {
  /** No read is older than this. */
  readonly position: Position
  /**
   * The session as text: `connect(url, { token })` in another tab, device or server continues from here, and reads nothing older.
   * It is not a secret and gives no rights. Take it when you hand it on, since it changes with every write.
   */
  readonly token: string
  /** The default mode of reads. */
  readonly read: ReadMode
  /** After how many milliseconds reads of mode 'session' must see other clients' writes. */
  readonly staleness: number
  /** The id of the change log to which the positions belong. */
  readonly log: string | undefined
  /**
   * Learns of everything acknowledged before the call: no later read is older. Call it after another system has reported a change.
   *
   * @example
   * await db.session.refresh()
   * console.log((await db.bucket('shop/products').get('tea'))?.price) // 4
   */
  refresh(options?: { signal?: AbortSignal; timeoutMs?: number }): Promise<void>
}

export interface DatabaseSessionOptions {
  readonly session: Session
  readonly refresher: Refresher
  readonly read: ReadMode
  readonly recorder: SessionRecorder | undefined
  readonly timeoutMs: number
  readonly closed: AbortSignal
}

export function createDatabaseSession(options: DatabaseSessionOptions): DatabaseSession {
  const { session, refresher, read, recorder, closed } = options
  return {
    read,
    staleness: session.stalenessMs,
    get position() {
      return session.position
    },
    get token() {
      const { token } = session
      recorder?.handedOn(token)
      return token
    },
    get log() {
      return session.log
    },
    refresh: async ({ signal, timeoutMs = options.timeoutMs } = {}) => {
      const deadline = new Deadline({ timeoutMs, what: 'Asking for what has changed', signals: [closed, signal] })
      try {
        await refresher.refresh(deadline.signal)
      } catch (error) {
        throw ofReading(error)
      } finally {
        deadline.end()
      }
    },
  }
}
