/**
 * Queries over shards, and writes to all of them:
 *
 *   const { sql, global } = createSql(db)
 *   const { rows } = await sql`select dept_no, avg(salary) as mean from salaries where emp_no < ${max} group by dept_no`
 *
 * What stands in ${} is a parameter, sent beside the statement and never part of its text.
 *
 * A result says which global writes are in it, table by table. What this session has seen of a table it never falls behind
 * again, on whichever server and through whichever cache: a result that is older is asked for again, at a position.
 *
 * Any cache may keep results. What the sketch is to objects the versions of the tables are to them; these are few, so they come as
 * they are, one small request for all queries, as old at most as `staleness` of `connect` says. A query is asked at the last global
 * write to its tables, which is in every copy that a cache has under that URL. Asked for the first time, nobody knows its
 * tables: then the server is asked.
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

/** What may stand in ${} of a statement. It is sent beside the statement, and never part of its text. */
export type SqlValue = string | number | boolean | null | bigint | Date

/** A row by its columns. Decimals and dates are text, so that no digit is lost. */
export type SqlRow = Readonly<Record<string, string | number | boolean | null>>

/** What a query over shards found: rows of one global state. */
export interface SqlResult<Row = SqlRow> {
  readonly rows: readonly Row[]
  readonly columns: readonly string[]
  /** `integer`, `decimal` and `date` (as text), `float`, `text`, `boolean`, `other`. */
  readonly types: readonly string[]
  /** Of each table that it depends on, the last global write. */
  readonly versions: SqlVersions
}

/** Where a session over shards goes on, if it is not a new one. */
export interface SqlOptions {
  /** `token` of the session that this one continues. */
  readonly token?: string
}

/** Queries over shards and writes to all of them. What this session has seen of a table it never falls behind again. */
export interface SqlSession {
  /**
   * Rows of one global state, never an older one than before: sql`select count(*) as n from orders where day = ${day}`.
   */
  sql<Row = SqlRow>(parts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlResult<Row>>
  /**
   * Its rows as they come, from one global state, however many: `for await (const row of stream\`select ...\`)`. No more are read than are
   * taken; who stops early lets go of the rest. If they are cut off, that is thrown, after some of them. No cache has them.
   */
  stream<Row = SqlRow>(parts: TemplateStringsArray, ...values: readonly SqlValue[]): AsyncIterable<Row>
  /** How it would be found. */
  explain(parts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlExplanation>
  /** Once on every shard, in the order of all global writes. Those that do not answer now are in `pending`, and will do it later. */
  global(parts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<GlobalAnswer>
  /** What it has seen, to be continued elsewhere. */
  readonly token: string
}

/** Queries over the shards of a server that has some. Throws TOKEN_INVALID. */
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
/** The plain URL, then at a position, then past caches that do not heed it. */
const ATTEMPTS_MAX = 3

/** So many statements are remembered with their tables. */
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

  /** Undefined: it is not known what it depends on, or others write to it. */
  async #lastWriteTo(tables: readonly string[] | undefined): Promise<number | undefined> {
    if (tables === undefined) return undefined
    const { versions } = await this.#versions()
    return Math.max(
      0,
      ...tables.map(table => Math.max(Object.hasOwn(versions, table) ? versions[table]! : 0, this.#floors.of(table))),
    )
  }

  /** As old at most as is allowed; those who ask at the same time share one request. */
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

  /** No cache has it under this name, and the answer says which name it is of. */
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
    `A parameter of a query is a text, number up to 2^53 (or bigint), boolean, Date or null, not ${String(value)}.`,
  )
}

/** With milliseconds only where there are some. */
function dateText(date: Date): string {
  const text = date.toISOString()
  if (text.length === 24) return text.slice(0, -1).replace('T', ' ').replace('.000', '')
  throw new TypeError(`A Date in a query is of the years 0 to 9999, not ${text}.`)
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

/** As the server has it. */
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
    // Not JSON: said below.
  }
  throw strange(what)
}

function untrustworthy(at: number): FreshetError {
  return new FreshetError(
    'CACHE_UNTRUSTWORTHY',
    `A cache on the way answers queries with results from before the global write ${at}, though it was asked not to. Look at its settings.`,
  )
}
