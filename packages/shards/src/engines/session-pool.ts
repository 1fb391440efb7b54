/**
 * Connections to one server. Each is used by one caller at a time, at most `sessionsMax` at once; later callers wait for their
 * turn. A connection whose user ran out of time, or met an error of the connection, is destroyed: no other caller gets it while
 * something is still under way.
 */
import type { Cell, CellType, ParameterValue } from '../plan/index.js'

export interface SessionResult {
  readonly types: readonly CellType[]
  readonly rows: readonly (readonly Cell[])[]
}

export interface Session {
  /** Statements are sent at once, and done in the order they were sent in. */
  run(text: string, values?: readonly ParameterValue[]): Promise<SessionResult>
  /**
   * Rows piece by piece, within the open transaction. Nothing else may be sent until `isIdle` again. A piece of more than
   * `bytesMax` is not read to its end: the session is destroyed, and the call that asks for the piece rejects with
   * LIMIT_EXCEEDED.
   */
  openCursor(text: string, values: readonly ParameterValue[], bytesMax: number): Promise<SessionCursor>
  /** All bytes received from the server so far. */
  readonly bytesRead: number
  readonly isAlive: boolean
  destroy(): void
}

export interface SessionCursor {
  readonly types: readonly CellType[]
  /** The next few rows; none if there are no more. One call at a time. */
  next(): Promise<SessionResult['rows']>
  /** Whether the server would take another statement now, or soon. */
  readonly isIdle: boolean
}

export interface LentSession {
  readonly session: Session
  /** `isWell`: others may use the session. A second call does nothing. */
  giveBack(isWell: boolean): void
}

/** The server did not answer in time. */
class SessionTimeout extends Error {}

export interface SessionPoolOptions {
  readonly open: (timeoutMs: number) => Promise<Session>
  readonly sessionsMax: number
}

const IDLE_MAX = 8

export class SessionPool {
  readonly #options: SessionPoolOptions
  readonly #idle: Session[] = []
  readonly #waiting: (() => void)[] = []
  readonly #used = new Set<Session>()
  #taken = 0
  #isClosed = false

  constructor(options: SessionPoolOptions) {
    this.#options = options
  }

  /** Rejects with `SessionTimeout`, or as `work` does; the session is then destroyed with whatever is still under way. */
  async use<Result>(timeoutMs: number, work: (session: Session) => Promise<Result>): Promise<Result> {
    const deadlineMs = performance.now() + timeoutMs
    await this.#turn(timeoutMs)
    let session: Session | undefined
    let isWell = false
    try {
      session = this.#idleOne() ?? (await this.#options.open(Math.max(1, deadlineMs - performance.now())))
      this.#used.add(session)
      const result = await inTime(work(session), deadlineMs - performance.now(), timeoutMs)
      isWell = true
      return result
    } finally {
      this.#giveBack(session, isWell)
    }
  }

  /**
   * Lends a session for longer. It does not count towards `sessionsMax`: callers that hold one for as long as a slow reader takes
   * must not keep the others, and the arbitrator, waiting. The caller must limit how many it borrows.
   */
  async lend(timeoutMs: number): Promise<LentSession> {
    if (this.#isClosed) throw new Error('it was closed')
    const session = this.#idleOne() ?? (await this.#options.open(timeoutMs))
    if (this.#isClosed) session.destroy()
    this.#used.add(session)
    let isLent = true
    const giveBack = (isWell: boolean) => {
      if (isLent) this.#keep(session, isWell)
      isLent = false
    }
    return { session, giveBack }
  }

  /** Opens a session outside of the pool, for the caller alone. */
  open(timeoutMs: number): Promise<Session> {
    return this.#options.open(timeoutMs)
  }

  close(): void {
    this.#isClosed = true
    for (const session of [...this.#idle, ...this.#used]) session.destroy()
    this.#idle.length = 0
  }

  #idleOne(): Session | undefined {
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) if (session.isAlive) return session
    return undefined
  }

  #giveBack(session: Session | undefined, isWell: boolean): void {
    if (session) this.#keep(session, isWell)
    this.#taken--
    this.#waiting.shift()?.()
  }

  #keep(session: Session, isWell: boolean): void {
    this.#used.delete(session)
    if (isWell && !this.#isClosed && session.isAlive && this.#idle.length < IDLE_MAX) this.#idle.push(session)
    else session.destroy()
  }

  async #turn(timeoutMs: number): Promise<void> {
    if (this.#isClosed) throw new Error('it was closed')
    if (this.#taken >= this.#options.sessionsMax) {
      let wake: () => void = () => undefined
      const turn = new Promise<void>(resolve => {
        wake = resolve
        this.#waiting.push(wake)
      })
      try {
        await inTime(turn, timeoutMs, timeoutMs)
      } catch (error) {
        const place = this.#waiting.indexOf(wake)
        if (place >= 0) this.#waiting.splice(place, 1)
        // Its turn came at the same moment, and goes to the next caller.
        else this.#waiting.shift()?.()
        throw error
      }
    }
    this.#taken++
  }
}

/** Rejects with `SessionTimeout`. */
export function inTime<Result>(work: Promise<Result>, leftMs: number, timeoutMs: number = leftMs): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new SessionTimeout(`nothing came within ${Math.round(timeoutMs)} ms`)),
      leftMs,
    )
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
