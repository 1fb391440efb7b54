/**
 * Connections to one server, each used by one at a time, at most `sessionsMax` at once; who comes later waits for its turn. A
 * connection whose user ran out of time, or came upon an error of the connection, is destroyed: nobody else gets it with something
 * still under way.
 */
import type { Cell, CellType, ParameterValue } from '@freshet/core/aggregates'

export interface SessionResult {
  readonly types: readonly CellType[]
  readonly rows: readonly (readonly Cell[])[]
}

export interface Session {
  /** Sent at once, and done in the order they were sent in. */
  run(text: string, values?: readonly ParameterValue[]): Promise<SessionResult>
  /** All that has come from the server so far. */
  readonly bytesRead: number
  readonly isAlive: boolean
  destroy(): void
}

/** It did not answer in time. */
export class SessionTimeout extends Error {}

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

  /** Rejects with `SessionTimeout`, or as `work` does; then what it left under way is cut off. */
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

  /** One of its own, for as long as it is wanted. */
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
    if (session) {
      this.#used.delete(session)
      if (isWell && !this.#isClosed && session.isAlive && this.#idle.length < IDLE_MAX) this.#idle.push(session)
      else session.destroy()
    }
    this.#taken--
    this.#waiting.shift()?.()
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
        // Its turn came in the same moment, and goes to the next.
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
