/**
 * One connection to PostgreSQL, made again when it is lost. Statements are pipelined: each is sent at once, followed by its
 * own Sync, so one that fails affects no other; except within a transaction, where all that follow fail too.
 *
 * A connection is closed if a request is open and nothing arrives for `patienceMs`: a cut cable sends no error.
 */
import type { Socket } from 'node:net'
import { storeClosed } from '@freshet/store/engine'
import pg from 'pg'
import type { Hosts } from '../sql/hosts.js'
import { toEngineError } from './postgres-errors.js'
import { type Config, dial } from './postgres-hosts.js'
import { STATEMENTS, type StatementName } from './statements.js'

export interface PostgresConnectionOptions {
  readonly hosts: Hosts<Config>
  /** For messages. */
  readonly place: string
  readonly patienceMs: number
  /** Sets up each new connection. */
  readonly prepare: (client: pg.Client, isFirst: boolean) => Promise<void>
  readonly onNotification?: (payload: string) => void
}

export type Row = readonly unknown[]

const LOOKS = 4
/** How long after a failed attempt the next one may begin. */
const PAUSE_MS = 100
const BYTEA = 17
const INT8 = 20

export class PostgresConnection {
  readonly #options: PostgresConnectionOptions
  #client: pg.Client | undefined
  #connecting: Promise<pg.Client> | undefined
  #failure: { readonly error: Error; readonly untilMs: number } | undefined
  #isFirst = true
  #isClosed = false
  #asked = 0
  #answered = 0
  #gathering: pg.Client | undefined
  readonly #watch: NodeJS.Timeout

  constructor(options: PostgresConnectionOptions) {
    this.#options = options
    this.#watch = this.#watchOver(options.patienceMs)
  }

  /** The current connection. Throws `EngineLost`, or the reason why the database cannot be used. */
  connected(): Promise<pg.Client> {
    if (this.#client && !this.#isClosed) return Promise.resolve(this.#client)
    if (this.#isClosed) return Promise.reject(storeClosed(this.#options.place))
    if (this.#failure && performance.now() < this.#failure.untilMs) return Promise.reject(this.#failure.error)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** The rows that a statement returns. `isUnknown`: it may have taken effect even if its reply is lost. */
  rows(name: StatementName, values: unknown[] = [], isUnknown = false): Promise<readonly Row[]> {
    const client = this.#client
    if (client && !this.#isClosed) return this.rowsOn(client, name, values, isUnknown)
    return this.connected().then(connected => this.rowsOn(connected, name, values, isUnknown))
  }

  /** On this connection only. */
  rowsOn(client: pg.Client, name: StatementName, values: unknown[] = [], isUnknown = false): Promise<readonly Row[]> {
    return this.#send(client, { name, text: STATEMENTS[name], values, rowMode: 'array' }, isUnknown, rowsOf)
  }

  /** A statement that is not in STATEMENTS, under its own name. */
  rowsOfText(
    client: pg.Client,
    { name, text, values }: { readonly name: string; readonly text: string; readonly values: unknown[] },
  ): Promise<readonly Row[]> {
    return this.#send(client, { name, text, values, rowMode: 'array' }, true, rowsOf)
  }

  /** Returns what was done: the COMMIT of a failed transaction returns ROLLBACK. */
  command(client: pg.Client, text: string, isUnknown = false): Promise<string> {
    return this.#send(client, { text, rowMode: 'array' }, isUnknown, commandOf)
  }

  /** The database is now a different one: the next request opens a new connection. */
  drop(): void {
    const client = this.#client
    this.#client = undefined
    if (client) streamOf(client).destroy(new Error('another database has taken over'))
  }

  /** Waits for open requests. */
  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client ?? (await this.#connecting?.catch(() => undefined))
    await client?.end()
    clearInterval(this.#watch)
  }

  /** Without async functions: each costs a turn of promises, and all reads take this path. */
  #send<Result>(
    client: pg.Client,
    config: pg.QueryArrayConfig,
    isUnknown: boolean,
    toResult: (result: pg.QueryArrayResult) => Result,
  ): Promise<Result> {
    this.#asked++
    this.#gather(client)
    return new Promise((resolve, reject) => {
      client.query(config, (error: Error | null, result: pg.QueryArrayResult) => {
        this.#answered++
        if (error) reject(toEngineError(this.#options.place, error, isUnknown))
        else resolve(toResult(result))
      })
    })
  }

  /** The requests of one turn are sent in one packet. */
  #gather(client: pg.Client): void {
    if (this.#gathering === client) return
    this.#gathering = client
    const stream = streamOf(client)
    stream.cork()
    process.nextTick(() => {
      this.#gathering = undefined
      stream.uncork()
    })
  }

  async #connect(): Promise<pg.Client> {
    try {
      this.#client = await this.#options.hosts.first(config => this.#connectTo(config))
      this.#failure = undefined
      return this.#client
    } catch (error) {
      this.#failure = { error: error as Error, untilMs: performance.now() + PAUSE_MS }
      throw error
    }
  }

  async #connectTo(config: Config): Promise<pg.Client> {
    const { hosts, place, prepare, onNotification, patienceMs } = this.#options
    let client: pg.Client | undefined
    try {
      client = await dial({ ...config, types: TYPES }, hosts.isSeveral, patienceMs)
      const connected = client
      const lose = () => {
        if (this.#client === connected) this.#client = undefined
      }
      client.on('error', lose)
      client.on('end', lose)
      if (onNotification) client.on('notification', ({ payload = '' }) => onNotification(payload))
      const impatience = setTimeout(() => streamOf(connected).destroy(new Error(silence(patienceMs))), patienceMs)
      await prepare(client, this.#isFirst).finally(() => clearTimeout(impatience))
      if (this.#isClosed) throw storeClosed(place)
      this.#isFirst = false
      return client
    } catch (cause) {
      client?.end().catch(() => {})
      throw toEngineError(place, cause, false)
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
      streamOf(this.#client).destroy(new Error(silence(patienceMs)))
    }
    return setInterval(look, patienceMs / LOOKS).unref()
  }
}

function silence(patienceMs: number): string {
  return `no reply for ${patienceMs} ms`
}

function rowsOf({ rows }: pg.QueryArrayResult): readonly Row[] {
  return rows
}

function commandOf({ command }: pg.QueryArrayResult): string {
  return command
}

/** The driver does not declare it. */
function streamOf(client: pg.Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream
}

/** Positions are integers that a number holds exactly. */
const TYPES: pg.CustomTypesConfig = {
  getTypeParser(type: number, format?: string) {
    if (type === INT8) return Number
    if (type === BYTEA) return (text: string) => Buffer.from(text.slice(2), 'hex')
    return pg.types.getTypeParser(type, format as 'text')
  },
}
