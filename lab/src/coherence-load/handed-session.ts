/** A session that moves from one connection to the next while requests are under way, as when a user moves from tab to tab. */
import { type ConnectOptions, connect, type Database, FreshetError } from '@freshet/client'
import { sumOf } from '../harness/sum-of.js'
import { connectMeanwhile } from './connect-meanwhile.js'

/** A connection, and what was seen and written through it and earlier connections. */
export interface Incarnation<Record> {
  readonly db: Database
  readonly record: Record
}

export interface HandedSessionOptions<Record> {
  readonly url: string
  readonly connection: ConnectOptions
  /** What is known of the session so far; `before` is undefined for a new one. */
  readonly recordAfter: (before: Record | undefined) => Record
  /** Codes of errors that a stopped server does not explain. */
  readonly unexpected: ReadonlySet<string>
}

export interface SessionFigures {
  /** Requests that got no answer, for example while a server was down. */
  readonly failed: number
  /** How often the session moved to another connection. */
  readonly handedOn: number
}

interface Used<Record> extends Incarnation<Record> {
  underWay: number
  isOver: boolean
}

/** Long, so that only a read that hangs fails, and not one that waits for a busy processor. */
const READ_MS_MAX = 60_000
const LANES = 3

export abstract class HandedSession<Record> implements SessionFigures {
  failed = 0
  handedOn = 0
  readonly #options: HandedSessionOptions<Record>
  #now: Used<Record> | undefined

  constructor(options: HandedSessionOptions<Record>) {
    this.#options = options
  }

  /** Runs several lanes at once, from the first connection to the end of the last. */
  async run(isOver: () => boolean): Promise<void> {
    const { url, recordAfter } = this.#options
    const db = await connectMeanwhile(url, this.#connectOptions, isOver)
    if (db === undefined) return
    this.#now = { db, record: recordAfter(undefined), underWay: 0, isOver: false }
    await Promise.all(Array.from({ length: LANES }, () => this.lane(isOver)))
    this.#now.db.close()
  }

  /** Sends one request after the other, until the load is over. */
  protected abstract lane(isOver: () => boolean): Promise<void>

  async handOn(): Promise<void> {
    const before = this.#now!
    try {
      this.#now = await this.#succeed(before)
      this.handedOn++
    } catch (error) {
      this.#expect(error)
      return
    }
    before.isOver = true
    if (before.underWay === 0) before.db.close()
  }

  async attempt(act: (now: Incarnation<Record>) => Promise<void>): Promise<void> {
    const now = this.#now!
    now.underWay++
    try {
      await act(now)
    } catch (error) {
      this.#expect(error)
    } finally {
      now.underWay--
      if (now.isOver && now.underWay === 0) now.db.close()
    }
  }

  async #succeed(before: Incarnation<Record>): Promise<Used<Record>> {
    const { url, recordAfter } = this.#options
    // Both at once: the new connection does not know what the old one reads after this.
    const { token } = before.db.session
    const record = recordAfter(before.record)
    const db = await connect(url, { ...this.#connectOptions, token })
    return { db, record, underWay: 0, isOver: false }
  }

  get #connectOptions(): ConnectOptions {
    return { timeoutMs: READ_MS_MAX, retriesMax: 12, ...this.#options.connection }
  }

  #expect(error: unknown): void {
    if (!(error instanceof FreshetError) || this.#options.unexpected.has(error.code)) throw error
    this.failed++
  }
}

export function figuresOf(sessions: readonly SessionFigures[]): SessionFigures {
  return { failed: sumOf(sessions, ({ failed }) => failed), handedOn: sumOf(sessions, ({ handedOn }) => handedOn) }
}
