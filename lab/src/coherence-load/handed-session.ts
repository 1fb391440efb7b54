/** A session that is handed on from one connection to the next while requests are under way, as a person moves from tab to tab. */
import { type ConnectOptions, connect, type Database, FreshetError } from '@freshet/client'

/** A connection, and what was seen and written through it and those before it. */
export interface Incarnation<Record> {
  readonly db: Database
  readonly record: Record
}

export interface HandedSessionOptions<Record> {
  readonly url: string
  readonly connection: ConnectOptions
  /** What is known of the session so far, as it is now; of a new one, nothing. */
  readonly recordAfter: (before: Record | undefined) => Record
  /** Errors that no server that is down explains. */
  readonly unexpected: ReadonlySet<string>
}

interface Used<Record> extends Incarnation<Record> {
  underWay: number
  isOver: boolean
}

/** Long, so that only what hangs fails, and not what has to wait for a busy processor. */
const READ_MS_MAX = 60_000

export class HandedSession<Record> {
  /** What got no answer, as while a server is down. */
  failed = 0
  handedOn = 0
  readonly #options: HandedSessionOptions<Record>
  #now: Used<Record> | undefined

  constructor(options: HandedSessionOptions<Record>) {
    this.#options = options
  }

  async begin(): Promise<void> {
    this.#now = await this.#incarnate()
  }

  async handOn(): Promise<void> {
    const before = this.#now!
    try {
      this.#now = await this.#incarnate(before)
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

  close(): void {
    this.#now?.db.close()
  }

  async #incarnate(before?: Incarnation<Record>): Promise<Used<Record>> {
    const { url, connection, recordAfter } = this.#options
    // Both at once: what is read under the old name after this is not known to the new one.
    const token = before?.db.session.token
    const record = recordAfter(before?.record)
    const options = { timeoutMs: READ_MS_MAX, retriesMax: 12, ...connection }
    const db = await connect(url, { ...options, ...(token === undefined ? {} : { token }) })
    return { db, record, underWay: 0, isOver: false }
  }

  #expect(error: unknown): void {
    if (!(error instanceof FreshetError) || this.#options.unexpected.has(error.code)) throw error
    this.failed++
  }
}
