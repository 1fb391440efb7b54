/**
 * One connection to MariaDB, made again when it is lost. Statements are pipelined: each is sent at once, and one that fails
 * affects no other, not even within a transaction. Statements that belong together are a script: one packet of several
 * statements, which ends at the first that fails.
 *
 * A connection is closed if a request is open and nothing arrives for `patienceMs`: a cut cable sends no error.
 */
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { EngineLost, storeClosed } from '@freshet/store/engine'
import { type Connection, type ConnectionConfig, createConnection } from 'mariadb'
import type { Hosts } from '../sql/hosts.js'
import { isReadOnly, toEngineError } from './mariadb-errors.js'
import type { Statement } from './statements.js'

export interface MariadbConnectionOptions {
  readonly hosts: Hosts<ConnectionConfig>
  /** For messages. */
  readonly place: string
  /** max_allowed_packet. */
  readonly packetBytesMax: number
  readonly patienceMs: number
  /** Sets up each new connection. */
  readonly prepare: (connection: Connection, isFirst: boolean) => Promise<void>
}

/** The connection, from one loss to the next. */
export interface Link {
  readonly connection: Connection
  readonly socket: Socket
}

export type Row = readonly unknown[]

const LOOKS = 4
/** How long after a failed attempt the next one may begin. */
const PAUSE_MS = 100
/** The connection timeout of one host among several. */
const DIAL_MS_MAX = 2000

export class MariadbConnection {
  readonly #options: MariadbConnectionOptions
  #link: Link | undefined
  #connecting: Promise<Link> | undefined
  #failure: { readonly error: Error; readonly untilMs: number } | undefined
  #isFirst = true
  #isClosed = false
  #asked = 0
  #answered = 0
  readonly #watch: NodeJS.Timeout

  constructor(options: MariadbConnectionOptions) {
    this.#options = options
    this.#watch = this.#watchOver(options.patienceMs)
  }

  /** The current connection. Throws `EngineLost`, or the reason why the database cannot be used. */
  connected(): Promise<Link> {
    if (this.#isClosed) return Promise.reject(storeClosed(this.#options.place))
    if (this.#link) return Promise.resolve(this.#link)
    if (this.#failure && performance.now() < this.#failure.untilMs) return Promise.reject(this.#failure.error)
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** The rows that a statement returns. */
  rows(statement: Statement): Promise<readonly Row[]> {
    const link = this.#link
    if (link && !this.#isClosed) return this.rowsOn(link, statement)
    return this.connected().then(connected => this.rowsOn(connected, statement))
  }

  /** On this connection only. */
  rowsOn(link: Link, statement: Statement): Promise<readonly Row[]> {
    return this.#send(link, statement, false)
  }

  /** How many rows a statement has changed. */
  async affected(statement: Statement): Promise<number> {
    const { affectedRows } = await this.#send<{ affectedRows: number }>(await this.connected(), statement, false)
    return affectedRows
  }

  /** The rows of each statement, in order. `isUnknown`: the script may have taken effect even if its reply is lost. */
  script(link: Link, statements: readonly Statement[], isUnknown = false): Promise<readonly (readonly Row[])[]> {
    const text = statements.map(each => each.text).join(';')
    return this.#query(link, { text, values: statements.flatMap(({ values }) => values) }, isUnknown)
  }

  /** The database is now a different one: the next request opens a new connection. */
  drop(): void {
    const link = this.#link
    this.#link = undefined
    link?.socket.destroy(new Error('another database has taken over'))
  }

  /** Waits for open requests, but not for ever if nothing arrives. */
  async close(): Promise<void> {
    this.#isClosed = true
    const link = this.#link ?? (await this.#connecting?.catch(() => undefined))
    if (link) {
      const ending = link.connection.end().catch(() => {})
      await Promise.race([ending, delay(this.#options.patienceMs, undefined, { ref: false })])
      link.socket.destroy()
    }
    clearInterval(this.#watch)
  }

  /**
   * A statement with parameters is prepared once, and its parameters are sent in binary form; but a list must be spelled out.
   * A statement without parameters, such as COMMIT or ROLLBACK, is never prepared, because a later request must not overtake
   * it.
   */
  #send<Result>(link: Link, statement: Statement, isUnknown: boolean): Promise<Result> {
    const { text, values } = statement
    if (values.length === 0 || values.some(Array.isArray)) return this.#query(link, statement, isUnknown)
    return this.#answer(link.connection.execute<Result>(text, values), isUnknown)
  }

  #query<Result>(link: Link, { text, values }: Statement, isUnknown: boolean): Promise<Result> {
    return this.#answer(link.connection.query<Result>(text, values), isUnknown)
  }

  #answer<Result>(asked: Promise<Result>, isUnknown: boolean): Promise<Result> {
    this.#asked++
    return asked.then(
      result => {
        this.#answered++
        return result
      },
      error => {
        this.#answered++
        const reason = toEngineError(this.#options.place, error, isUnknown)
        if (!this.#options.hosts.isSeveral || !isReadOnly(error)) throw reason
        // Another host is the primary, or soon will be.
        this.drop()
        throw new EngineLost(reason, false)
      },
    )
  }

  async #connect(): Promise<Link> {
    try {
      this.#link = await this.#options.hosts.first(config => this.#connectTo(config))
      this.#failure = undefined
      return this.#link
    } catch (error) {
      this.#failure = { error: error as Error, untilMs: performance.now() + PAUSE_MS }
      throw error
    }
  }

  async #connectTo(config: ConnectionConfig): Promise<Link> {
    const { hosts, place, packetBytesMax, prepare, patienceMs } = this.#options
    let link: Link | undefined
    try {
      const limited = { ...config, maxAllowedPacket: packetBytesMax }
      link = await dialOne(limited, { place, patienceMs, isOneOfSeveral: hosts.isSeveral })
      const { connection, socket } = link
      const lose = () => {
        if (this.#link?.connection === connection) this.#link = undefined
      }
      connection.on('error', lose)
      connection.on('end', lose)
      const impatience = setTimeout(() => socket.destroy(new Error(silence(patienceMs))), patienceMs)
      await prepare(connection, this.#isFirst).finally(() => clearTimeout(impatience))
      if (this.#isClosed) throw storeClosed(place)
      if (!connection.isValid()) throw new Error('the connection was lost at once')
      this.#isFirst = false
      return link
    } catch (cause) {
      link?.socket.destroy()
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
      if (looks > LOOKS) this.#link?.socket.destroy(new Error(silence(patienceMs)))
    }
    return setInterval(look, patienceMs / LOOKS).unref()
  }
}

export interface DialOptions {
  /** For messages. */
  readonly place: string
  readonly patienceMs: number
  /** If true, the timeout is shorter, and a read-only host is refused. */
  readonly isOneOfSeveral: boolean
}

export async function dialOne(config: ConnectionConfig, options: DialOptions): Promise<Link> {
  const { place, patienceMs, isOneOfSeveral } = options
  let link: Link | undefined
  try {
    link = await dial(config, isOneOfSeveral ? Math.min(patienceMs, DIAL_MS_MAX) : patienceMs)
    if (isOneOfSeveral) await checkPrimary(link.connection)
    return link
  } catch (error) {
    link?.socket.destroy()
    throw toEngineError(place, error, false)
  }
}

/** Throws `EngineLost` if it is read-only: it may yet become the primary, or another host may be. */
export async function checkPrimary(connection: Connection): Promise<void> {
  const [[isReadOnly]] = await connection.query('SELECT @@read_only OR @@innodb_read_only')
  if (isReadOnly) throw new EngineLost('it is read-only, as a replica is', false)
}

/** Uses a socket of our own, which can be closed at once if the server does not answer. */
async function dial(config: ConnectionConfig, patienceMs: number): Promise<Link> {
  const { host = 'localhost', port = 3306 } = config
  let socket: Socket | undefined
  const stream = () => {
    socket = connect({ host, port, noDelay: true, keepAlive: true })
    return socket
  }
  const connection = await createConnection({ ...config, ...DRIVER, stream, connectTimeout: patienceMs })
  connection.on('error', () => {})
  return { connection, socket: socket! }
}

/** Positions are integers that a number holds exactly. */
const DRIVER: ConnectionConfig = {
  pipelining: true,
  multipleStatements: true,
  rowsAsArray: true,
  bigIntAsNumber: true,
  decimalAsNumber: true,
  insertIdAsNumber: true,
  logParam: false,
}

function silence(patienceMs: number): string {
  return `no reply for ${patienceMs} ms`
}
