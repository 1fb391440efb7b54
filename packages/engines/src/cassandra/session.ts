/** The driver's client: at which consistency it sends each statement, and what its errors mean. It reconnects by itself. */

import { EngineLost, storeUnavailable, storeUnusable } from '@freshet/store/engine'
import cassandra, { type types } from 'cassandra-driver'
import type { CassandraAddress } from './address.js'
import { STATEMENTS, type StatementName } from './statements.js'
import { createSteadyClient } from './steady-client.js'

export type Parameter =
  | string
  | number
  | Uint8Array
  | readonly string[]
  | readonly number[]
  | ReadonlyMap<string | Uint8Array, unknown>
  | null
  | typeof types.unset

export interface Statement {
  readonly name: StatementName
  readonly parameters: readonly Parameter[]
}

/** `log`: by a majority. `rows`: at the level in the address. `nearest`: from one copy, in this data centre. */
export type At = 'log' | 'rows' | 'nearest'

export interface Consistencies {
  readonly log: types.consistencies
  readonly serial: types.consistencies
  readonly readRows: types.consistencies
  readonly writeRows: types.consistencies
}

export interface SessionOptions {
  readonly address: CassandraAddress
  /** If a node does not answer within this time, another node is asked. */
  readonly answerMsMax: number
}

const RECONNECT_MS = 250
const HEARTBEAT_MS = 2000
const { responseErrorCodes, consistencies } = cassandra.types
/** Errors that Cassandra returns again however often the statement is repeated. */
const FINAL: ReadonlySet<number> = new Set([
  responseErrorCodes.syntaxError,
  responseErrorCodes.unauthorized,
  responseErrorCodes.invalid,
  responseErrorCodes.configError,
  responseErrorCodes.badCredentials,
  responseErrorCodes.protocolError,
])

export class Session {
  readonly place: string
  readonly client: cassandra.Client
  readonly #keyspace: string
  readonly #at: Consistencies
  readonly #queries: ReadonlyMap<StatementName, string>

  constructor({ address, answerMsMax }: SessionOptions) {
    this.place = address.place
    this.#keyspace = address.keyspace
    this.#at = consistenciesOf(address)
    this.client = createSteadyClient(clientOptions(address, answerMsMax))
    this.client.on('log', () => {})
    this.#queries = new Map(
      Object.entries(STATEMENTS).map(([name, query]) => [name as StatementName, inKeyspace(query, address.keyspace)]),
    )
  }

  get keyspace(): string {
    return this.#keyspace
  }

  async connect(): Promise<void> {
    await this.#do(() => this.client.connect())
  }

  /** Called whenever a node becomes unreachable. */
  onNodeLost(listener: () => void): void {
    this.client.on('hostDown', listener)
  }

  read(at: At, name: StatementName, parameters: readonly Parameter[]): Promise<types.ResultSet> {
    const { log, readRows } = this.#at
    const levels = { log, rows: readRows, nearest: consistencies.localOne }
    return this.#execute(name, parameters, levels[at])
  }

  /** All rows, however many. */
  async *readAll(name: StatementName, parameters: readonly Parameter[]): AsyncGenerator<types.Row> {
    let pageState: string | undefined
    do {
      const options = { fetchSize: ROWS_PER_PAGE, ...(pageState !== undefined && { pageState }) }
      const page = await this.#execute(name, parameters, this.#at.readRows, options)
      yield* page.rows
      pageState = page.pageState ?? undefined
    } while (pageState !== undefined)
  }

  async write(at: Exclude<At, 'nearest'>, name: StatementName, parameters: readonly Parameter[]): Promise<void> {
    await this.#execute(name, parameters, at === 'log' ? this.#at.log : this.#at.writeRows)
  }

  /** The statements must belong to one partition. They are applied together, or not at all. */
  async writeTogether(statements: readonly Statement[]): Promise<void> {
    const queries = statements.map(({ name, parameters }) => ({ query: this.#queries.get(name)!, params: parameters }))
    const options = { prepare: true, logged: false, isIdempotent: true, consistency: this.#at.writeRows }
    await this.#do(() => this.client.batch(queries, options))
  }

  /** A lightweight transaction. Undefined: it was applied; otherwise the row that was found instead. */
  async compareAndSet(name: StatementName, parameters: readonly Parameter[]): Promise<types.Row | undefined> {
    const result = await this.#execute(name, parameters, this.#at.log, { serialConsistency: this.#at.serial })
    return result.wasApplied() ? undefined : result.first()
  }

  async ask(query: string, parameters: readonly Parameter[] = []): Promise<readonly types.Row[]> {
    const options = { prepare: parameters.length > 0, consistency: consistencies.localOne }
    const { rows } = await this.#do(() => this.client.execute(query, [...parameters], options))
    return rows ?? []
  }

  /** Changes the schema. All nodes must agree on the change, which takes longer than other statements. */
  async define(statement: string): Promise<void> {
    const options = { consistency: consistencies.localOne, readTimeout: SCHEMA_MS_MAX }
    await this.#do(() => this.client.execute(statement, [], options))
  }

  /** The first row of each node that answers. */
  async askEach(query: string): Promise<readonly types.Row[]> {
    const hosts = this.client.hosts.values().filter(host => host.isUp())
    const asked = hosts.map(host => this.client.execute(query, [], { host, consistency: consistencies.localOne }))
    const answers = await Promise.allSettled(asked)
    return answers.flatMap(answer => (answer.status === 'fulfilled' ? answer.value.rows.slice(0, 1) : []))
  }

  async close(): Promise<void> {
    await this.client.shutdown()
  }

  #execute(
    name: StatementName,
    parameters: readonly Parameter[],
    consistency: types.consistencies,
    more: cassandra.QueryOptions = {},
  ): Promise<types.ResultSet> {
    // Every statement here may be sent twice. For conditional ones see `append` of change-log.ts.
    const options = { prepare: true, isIdempotent: true, consistency, ...more }
    return this.#do(() => this.client.execute(this.#queries.get(name)!, [...parameters], options))
  }

  async #do<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work()
    } catch (error) {
      throw this.#errorOf(error)
    }
  }

  #errorOf(error: unknown): unknown {
    const { errors } = cassandra
    if (error instanceof errors.AuthenticationError) return storeUnusable(this.place, 'it refused the login', error)
    if (error instanceof errors.NoHostAvailableError) {
      const inner = Object.values(error.innerErrors ?? {})
      const refused = inner.find(each => each instanceof errors.AuthenticationError)
      return refused
        ? storeUnusable(this.place, 'it refused the login', refused)
        : new EngineLost(reasonOf(error), true)
    }
    if (error instanceof errors.ResponseError && FINAL.has(error.code)) {
      return storeUnusable(this.place, error.message, error)
    }
    const isPassing =
      error instanceof errors.ResponseError ||
      error instanceof errors.OperationTimedOutError ||
      error instanceof errors.BusyConnectionError ||
      isUnconnected(error)
    return isPassing ? new EngineLost(error, true) : error
  }
}

/** The driver throws a plain error when it prepares a statement on a node that has just lost all its connections. */
function isUnconnected(error: unknown): boolean {
  return error instanceof Error && error.message === 'No connection available'
}

const ROWS_PER_PAGE = 1000
const SCHEMA_MS_MAX = 30_000

/** A store that is being opened does not wait for nodes to come back, so the error is final. */
export function openingFailed(place: string, error: unknown): unknown {
  return error instanceof EngineLost ? storeUnavailable(place, error, 'not-done') : error
}

/** The driver's own message leaves out the reasons. */
function reasonOf(error: cassandra.errors.NoHostAvailableError): Error {
  const reasons = Object.entries(error.innerErrors ?? {}).map(([host, inner]) => `${host}: ${(inner as Error).message}`)
  return new Error(reasons.length === 0 ? 'no node can be reached' : reasons.join('; '), { cause: error })
}

function inKeyspace(query: string, keyspace: string): string {
  return query.replace(/\b(FROM|INTO|UPDATE) (?=[a-z])/, `$1 ${keyspace}.`)
}

function clientOptions(address: CassandraAddress, answerMsMax: number): cassandra.DseClientOptions {
  const { loadBalancing, reconnection } = cassandra.policies
  const { hosts, port, dc, user, password, isEncrypted } = address
  const nearest =
    dc === undefined ? new loadBalancing.RoundRobinPolicy() : new loadBalancing.DCAwareRoundRobinPolicy(dc)
  return {
    contactPoints: [...hosts],
    protocolOptions: { port },
    ...(dc !== undefined && { localDataCenter: dc }),
    ...(user !== undefined && { credentials: { username: user, password: password ?? '' } }),
    ...(isEncrypted && { sslOptions: { rejectUnauthorized: true } }),
    encoding: { map: Map },
    policies: {
      loadBalancing: new loadBalancing.TokenAwarePolicy(nearest),
      reconnection: new reconnection.ConstantReconnectionPolicy(RECONNECT_MS),
    },
    // A connection that did not answer once within this time is closed: later requests over it might be lost as well.
    socketOptions: { connectTimeout: answerMsMax, readTimeout: answerMsMax, defunctReadTimeoutThreshold: 1 },
    pooling: { heartBeatInterval: HEARTBEAT_MS },
    monitorReporting: { enabled: false },
  }
}

function consistenciesOf({ dc, read, write }: CassandraAddress): Consistencies {
  const isLocal = dc !== undefined
  const levels = {
    one: isLocal ? consistencies.localOne : consistencies.one,
    quorum: isLocal ? consistencies.localQuorum : consistencies.quorum,
    all: consistencies.all,
  }
  return {
    log: levels.quorum,
    serial: isLocal ? consistencies.localSerial : consistencies.serial,
    readRows: levels[read],
    writeRows: levels[write],
  }
}
