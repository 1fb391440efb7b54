/**
 * Queries over shards, and writes to all of them:
 *
 *   const { sql, global } = createSql(db)
 *   const { rows } = await sql`select dept_no, avg(salary) as mean from salaries where emp_no < ${max} group by dept_no`
 *
 * A value in ${} is a parameter, sent beside the statement and never part of its text.
 *
 * A result says which global writes are in it, table by table. A session never falls behind what it has seen of a table, on any
 * server and through any cache: an older result is requested again, at a position.
 *
 * Any cache may keep results. The versions of the tables are for results what the sketch is for objects. They are few, so the
 * client fetches all of them, with one small request for all queries; they are at most as old as `staleness` of `connect` allows.
 * A query is requested at the last global write to its tables, which is in every copy that a cache has under that URL. At the
 * first request for a query its tables are not known yet: then the server is asked.
 */

import {
  checkEcho,
  createNonce,
  type Database,
  type DatabaseParts,
  Deadline,
  isLost,
  isPassing,
  isStorable,
  JSON_HEADERS,
  ofReading,
  type Request,
  retry,
} from '@freshet/client/requests'
import {
  FreshetError,
  type GlobalAnswer,
  type SqlAnswer,
  type SqlExplanation,
  type SqlHead,
  type SqlStreamHead,
  type SqlVersions,
} from '@freshet/protocol'
import { StreamedRows, strange } from './streamed-rows.js'
import { parseToken, VersionFloors } from './version-floors.js'

/** What may be in ${} of a statement. It is sent beside the statement, and never part of its text. */
export type SqlValue = string | number | boolean | null | bigint | Date

/** A row, as an object with its columns. Decimals and dates are text, so that no digit is lost. */
export type SqlRow = Readonly<Record<string, string | number | boolean | null>>

/** What a query over shards found: rows of one global state. */
export interface SqlResult<Row = SqlRow> {
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  /** `integer`, `decimal` and `date` (as text), `float`, `text`, `boolean`, `other`. */
  readonly types: readonly string[]
  /** The last global write to each table that the result depends on. */
  readonly versions: SqlVersions
}

/** Where a session over shards continues, if it is not a new one. */
export interface SqlOptions {
  /** `token` of the session that this one continues. */
  readonly token?: string
}

/** Queries over shards and writes to all of them. The session never falls behind what it has seen of a table. */
export interface SqlSession {
  /**
   * Returns rows of one global state, never an older one than before: sql`select count(*) as n from orders where day = ${day}`.
   */
  sql<Row = SqlRow>(parts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlResult<Row>>
  /**
   * Returns the rows as they arrive, from one global state, however many: `for await (const row of stream\`select ...\`)`. No
   * more are read than are taken; stopping early releases the rest. If the rows are cut off, the loop throws after some of them.
   * No cache keeps them.
   */
  stream<Row = SqlRow>(parts: TemplateStringsArray, ...values: readonly SqlValue[]): AsyncIterable<Row>
  /** Returns how the query would be answered. */
  explain(parts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlExplanation>
  /**
   * Writes once on every shard, in the order of all global writes. Shards that do not answer now are in `pending`, and will apply
   * the write later.
   */
  global(parts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<GlobalAnswer>
  /** What the session has seen. Pass it to `createSql` to continue the session elsewhere. */
  readonly token: string
}

/** Queries over the shards of a server. Throws TOKEN_INVALID. */
export function createSql(db: Database, { token }: SqlOptions = {}): SqlSession {
  const client = new SqlClient(
    db.parts,
    new VersionFloors(token === undefined ? {} : parseToken(token)),
    db.session.staleness,
  )
  return {
    sql: <Row>(parts: TemplateStringsArray, ...values: readonly SqlValue[]) => client.query<Row>(parts, values),
    stream: <Row>(parts: TemplateStringsArray, ...values: readonly SqlValue[]) => client.stream<Row>(parts, values),
    explain: (parts, ...values) => client.explain(parts, values),
    global: (parts, ...values) => client.write(parts, values),
    get token() {
      return client.token
    },
  }
}

interface News {
  readonly askedAtMs: number
  readonly head: Promise<SqlHead>
}

interface Statement {
  readonly q: string
  readonly p: readonly (string | number | boolean | null)[]
}

/** Longer ones are sent as a body, which no cache keeps. */
const URL_LENGTH_MAX = 4000
/** The plain URL, then a position, then around caches that ignore the position. */
const ATTEMPTS_MAX = 3

/** How many statements are remembered with their tables. */
const STATEMENTS_MAX = 500

class SqlClient {
  readonly #parts: DatabaseParts
  readonly #floors: VersionFloors
  readonly #stalenessMs: number
  /** By statement. */
  readonly #tables = new Map<string, readonly string[]>()
  #news: News | undefined

  constructor(parts: DatabaseParts, floors: VersionFloors, stalenessMs: number) {
    this.#parts = parts
    this.#floors = floors
    this.#stalenessMs = stalenessMs
  }

  get token(): string {
    return this.#floors.token
  }

  async query<Row>(texts: TemplateStringsArray, values: readonly SqlValue[]): Promise<SqlResult<Row>> {
    const statement = statementOf(texts, values)
    let at = await this.#lastWriteTo(this.#tables.get(statement.q))
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt === ATTEMPTS_MAX
      const answer = await this.#ask<SqlAnswer>(requestOf(statement, at, isLast), isPassing, isSqlAnswer)
      const needed = this.#floors.neededFor(answer.versions)
      if (needed === 0) return this.#take<Row>(statement, answer)
      at = Math.max(needed, at ?? 0)
      if (isLast) throw untrustworthy(at)
    }
  }

  async *stream<Row>(texts: TemplateStringsArray, values: readonly SqlValue[]): AsyncGenerator<Row> {
    const { rows, columns } = await this.#openRows(statementOf(texts, values))
    try {
      for (let row = await rows.next(); row !== undefined; row = await rows.next()) yield rowOf<Row>(columns, row)
    } finally {
      rows.close()
    }
  }

  async #openRows(statement: Statement): Promise<{ rows: StreamedRows; columns: readonly string[] }> {
    let at = 0
    for (let attempt = 1; ; attempt++) {
      const { rows, head } = await this.#requestRows(statement, at)
      const needed = this.#floors.neededFor(head.versions)
      if (needed === 0) {
        this.#floors.raise(head.versions)
        return { rows, columns: head.columns }
      }
      rows.close()
      at = Math.max(needed, at)
      if (attempt === ATTEMPTS_MAX) throw untrustworthy(at)
    }
  }

  #requestRows(statement: Statement, at: number): Promise<{ rows: StreamedRows; head: SqlStreamHead }> {
    const { transport, policy, timeoutMs, closed } = this.#parts
    const headers = { ...JSON_HEADERS, accept: 'application/x-ndjson' }
    const request: Request = { method: 'POST', target: '/sql', headers, body: JSON.stringify({ ...statement, at }) }
    return retry(policy, closed, isPassing, async () => {
      const rows = new StreamedRows({ transport, request, what: 'POST /sql', timeoutMs, closed })
      try {
        return { rows, head: await rows.open() }
      } catch (error) {
        rows.close()
        throw error
      }
    })
  }

  /** Undefined if the tables of the query are not known, or others write to them directly. */
  async #lastWriteTo(tables: readonly string[] | undefined): Promise<number | undefined> {
    if (tables === undefined) return undefined
    const { versions } = await this.#versions()
    return Math.max(
      0,
      ...tables.map(table => Math.max(Object.hasOwn(versions, table) ? versions[table]! : 0, this.#floors.of(table))),
    )
  }

  /** The versions, at most as old as allowed; concurrent callers share one request. */
  #versions(): Promise<SqlHead> {
    const nowMs = this.#parts.clock()
    if (this.#news && nowMs - this.#news.askedAtMs <= this.#stalenessMs) return this.#news.head
    const news = { askedAtMs: nowMs, head: this.#askVersions() }
    this.#news = news
    news.head.catch(() => {
      if (this.#news === news) this.#news = undefined
    })
    return news.head
  }

  /** No cache has an answer under this URL, and the answer repeats the nonce. */
  async #askVersions(): Promise<SqlHead> {
    const nonce = createNonce()
    const target = `/sql/versions?nonce=${nonce}`
    const head = await this.#ask<SqlHead>({ method: 'GET', target, cache: 'no-store' }, isPassing, isSqlHead)
    checkEcho(head, nonce, target)
    return head
  }

  explain(texts: TemplateStringsArray, values: readonly SqlValue[]): Promise<SqlExplanation> {
    const body = JSON.stringify({ ...statementOf(texts, values), explain: true })
    return this.#ask(
      { method: 'POST', target: '/sql', headers: JSON_HEADERS, body },
      isPassing,
      ({ way }: SqlExplanation) => way !== undefined,
    )
  }

  async write(texts: TemplateStringsArray, values: readonly SqlValue[]): Promise<GlobalAnswer> {
    const headers = { ...JSON_HEADERS, 'idempotency-key': crypto.randomUUID() }
    const body = JSON.stringify(statementOf(texts, values))
    const isRepeatable = (error: unknown) => isPassing(error) || isLost(error)
    const answer = await this.#ask<GlobalAnswer>(
      { method: 'POST', target: '/global', headers, body },
      isRepeatable,
      isGlobalAnswer,
    )
    this.#floors.raise(answer.versions)
    return answer
  }

  #take<Row>({ q }: Statement, { columns, types, rows, versions, isKept }: SqlAnswer): SqlResult<Row> {
    this.#floors.raise(versions)
    this.#tables.delete(q)
    if (isKept) this.#tables.set(q, Object.keys(versions))
    if (this.#tables.size > STATEMENTS_MAX) this.#tables.delete(this.#tables.keys().next().value!)
    return { rows: rows.map(row => rowOf<Row>(columns, row)), columns, types, versions }
  }

  async #ask<Answer>(
    request: Request,
    isRepeatable: (error: unknown) => boolean,
    isWhole: (answer: Answer) => boolean,
  ): Promise<Answer> {
    const { transport, policy, timeoutMs, closed } = this.#parts
    const what = `${request.method} ${request.target.slice(0, 100)}`
    const deadline = new Deadline({ timeoutMs, what, signals: [closed] })
    try {
      return await retry(policy, deadline.signal, isRepeatable, async () => {
        const { body, problem } = await transport.text(request, deadline.signal)
        if (problem) throw problem
        return parse(body, isWhole, what)
      })
    } catch (error) {
      throw request.target === '/global' ? error : ofReading(error)
    } finally {
      deadline.end()
    }
  }
}

function rowOf<Row>(columns: readonly string[], row: SqlAnswer['rows'][number]): Row {
  return Object.fromEntries(columns.map((name, i) => [name, row[i]!])) as Row
}

/** `a ${x} b ${y}` becomes `a $1 b $2`. */
function statementOf(texts: TemplateStringsArray, values: readonly SqlValue[]): Statement {
  const q = texts.reduce((text, part, i) => `${text}$${i}${part}`)
  return { q, p: values.map(plainValue) }
}

function plainValue(value: SqlValue): string | number | boolean | null {
  if (value instanceof Date) return dateText(value)
  if (typeof value === 'bigint') return `${value}`
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || isStorable(value)) return value
  throw new TypeError(
    `A parameter of a query must be a text, number up to 2^53 (or bigint), boolean, Date or null, not ${String(value)}.`,
  )
}

/** With milliseconds only if they are not 0. */
function dateText(date: Date): string {
  const text = date.toISOString()
  if (text.length === 24) return text.slice(0, -1).replace('T', ' ').replace('.000', '')
  throw new TypeError(`A Date in a query must be in the years 0 to 9999, not ${text}.`)
}

function requestOf({ q, p }: Statement, at: number | undefined, isPastCaches: boolean): Request {
  const parameters = {
    ...(at === undefined ? {} : { at: `${at}` }),
    ...(p.length > 0 ? { p: JSON.stringify(p) } : {}),
    q,
  }
  const spelled = Object.entries(parameters).map(([name, value]) => `${name}=${encode(value)}`)
  const target = `/sql?${spelled.join('&')}`
  if (target.length <= URL_LENGTH_MAX)
    return { method: 'GET', target, ...(isPastCaches ? { cache: 'reload' as const } : {}) }
  return { method: 'POST', target: '/sql', headers: JSON_HEADERS, body: JSON.stringify({ q, p, at }) }
}

/** The encoding that the server uses. */
function encode(value: string): string {
  return encodeURIComponent(value).replaceAll("'", '%27')
}

function isSqlHead({ versions }: SqlHead): boolean {
  return typeof versions === 'object'
}

function isSqlAnswer({ rows, versions }: SqlAnswer): boolean {
  return Array.isArray(rows) && typeof versions === 'object'
}

function isGlobalAnswer({ versions }: GlobalAnswer): boolean {
  return typeof versions === 'object'
}

function parse<Answer>(body: string, isWhole: (answer: Answer) => boolean, what: string): Answer {
  try {
    const answer = JSON.parse(body) as Answer
    if (isWhole(answer)) return answer
  } catch {
    // Not JSON: reported below.
  }
  throw strange(what)
}

function untrustworthy(at: number): FreshetError {
  return new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `A cache on the way returned a result from before the global write ${at}, although it was asked not to. Check its settings.`,
  )
}
