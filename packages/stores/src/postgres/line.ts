/**
 * One connection to PostgreSQL, made again when it is lost. Statements are pipelined: each is sent at once, ended by a Sync of its
 * own, so that one that fails takes no other with it, except within a transaction, where all that follow fail too.
 *
 * A connection over which nothing comes back for `patienceMs` although something is asked is given up: a cut cable says nothing.
 */
import pg from 'pg'
import { EngineLost } from '../sql/sql-engine.js'
import { toEngineError } from './postgres-errors.js'
import { STATEMENTS, type StatementName } from './statements.js'

export interface LineOptions {
  readonly config: pg.ClientConfig
  /** For messages. */
  readonly place: string
  readonly patienceMs: number
  /** What each new connection is told first. */
  readonly prepare: (client: pg.Client, isFirst: boolean) => Promise<void>
  readonly onNotification?: (payload: string) => void
}

export type Row = readonly unknown[]

const LOOKS = 4
/** So long after a failed attempt to connect there is no other. */
const PAUSE_MS = 100
const BYTEA = 17
const INT8 = 20

export class Line {
  readonly #options: LineOptions
  #client: pg.Client | undefined
  #connecting: Promise<pg.Client> | undefined
  #failure: { readonly error: Error; readonly untilMs: number } | undefined
  #isFirst = true
  #isClosed = false
  #asked = 0
  #answered = 0
  readonly #watch: NodeJS.Timeout

  constructor(options: LineOptions) {
    this.#options = options
    this.#watch = this.#watchOver(options.patienceMs)
  }

  /** Connected. Throws `EngineLost`, or what says why it cannot be. */
  connected(): Promise<pg.Client> {
    if (this.#client) return Promise.resolve(this.#client)
    if (this.#failure && performance.now() < this.#failure.untilMs) return Promise.reject(this.#failure.error)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** The rows that a statement finds. `isUnknown`: if the answer is lost, it may have taken effect. */
  async rows(name: StatementName, values: unknown[] = [], isUnknown = false): Promise<readonly Row[]> {
    return this.rowsOn(this.#client ?? (await this.connected()), name, values, isUnknown)
  }

  /** On this connection or not at all. */
  async rowsOn(
    client: pg.Client,
    name: StatementName,
    values: unknown[] = [],
    isUnknown = false,
  ): Promise<readonly Row[]> {
    return (await this.#send(client, { name, text: STATEMENTS[name], values, rowMode: 'array' }, isUnknown)).rows
  }

  /** Says what was done: ROLLBACK is also what the COMMIT of a failed transaction comes to. */
  async command(client: pg.Client, text: string, isUnknown = false): Promise<string> {
    return (await this.#send(client, { text, rowMode: 'array' }, isUnknown)).command
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearInterval(this.#watch)
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    await client?.end()
  }

  async #send(client: pg.Client, config: pg.QueryArrayConfig, isUnknown: boolean): Promise<pg.QueryArrayResult> {
    this.#asked++
    try {
      return await client.query(config)
    } catch (error) {
      throw toEngineError(this.#options.place, error, isUnknown)
    } finally {
      this.#answered++
    }
  }

  async #connect(): Promise<pg.Client> {
    const { config, place, prepare, onNotification, patienceMs } = this.#options
    const client = new pg.Client({ ...config, types: TYPES, connectionTimeoutMillis: patienceMs })
    const lose = () => {
      if (this.#client === client) this.#client = undefined
    }
    client.on('error', lose)
    client.on('end', lose)
    if (onNotification) client.on('notification', ({ payload = '' }) => onNotification(payload))
    try {
      await client.connect()
      await prepare(client, this.#isFirst)
      if (this.#isClosed) throw new EngineLost(new Error('The store was closed.'), false)
      this.#isFirst = false
      this.#failure = undefined
      this.#client = client
      return client
    } catch (cause) {
      client.end().catch(() => {})
      const error = toEngineError(place, cause, false)
      this.#failure = { error, untilMs: performance.now() + PAUSE_MS }
      throw error
    }
  }

  #watchOver(patienceMs: number): NodeJS.Timeout {
    let seen = 0
    let looks = 0
    const look = () => {
      const isStuck = this.#asked > this.#answered && this.#answered === seen
      seen = this.#answered
      looks = isStuck ? looks + 1 : 0
      if (looks <= LOOKS || this.#client === undefined) return
      const { stream } = (this.#client as unknown as { connection: { stream: { destroy(error: Error): void } } })
        .connection
      stream.destroy(new Error(`Nothing has come back for ${patienceMs} ms`))
    }
    return setInterval(look, patienceMs / LOOKS).unref()
  }
}

/** Positions are within what a number holds exactly. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser(type: number, format?: string) {
    if (type === INT8) return Number
    if (type === BYTEA) return (text: string) => Buffer.from(text.slice(2), 'hex')
    return pg.types.getTypeParser(type, format as 'text')
  },
}
