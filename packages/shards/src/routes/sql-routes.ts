/**
 * `GET /sql?q=...` and `POST /sql`: one query, as if there were no shards. `GET /global` and `POST /global`: writes to all
 * shards.
 *
 * The ETag of a result is its versions: if all writes to the shards go through the arbitrator, a result with the same versions is
 * the same. Then caches may keep it. Under the plain URL a cache asks each time whether the result still holds (`no-cache`),
 * which takes no query. Under `at=N` a cache need not ask: every copy has all writes up to N, and a client that asks at N knows
 * of no later write that the result depends on. Clients get the last global write to each table from `GET /sql/versions`.
 */
import {
  FreshetError,
  inexactNumber,
  type OperationId,
  readPosition,
  type SqlExplanation,
  type SqlHead,
  versionsTag,
} from '@freshet/protocol'
import {
  type Answer,
  type Audited,
  type Call,
  type Caller,
  type Capability,
  type CapabilityHost,
  counter,
  type Exchange,
  type Gauge,
  gauge,
  type JoinCapability,
  JSON_TYPE,
  jsonAnswer,
  jsonTextAnswer,
  NO_SNIFF,
  PRIVATE,
  prefers,
  REPLAYED,
  type Route,
  readBody,
  readMembers,
  readNonce,
  readOperation,
} from '@freshet/server/capabilities'
import { Arbitrator } from '../arbitrator/arbitrator.js'
import { versionsIn } from '../coordinator/log-view.js'
import { type AskedSql, QueryCoordinator } from '../coordinator/query-coordinator.js'
import { parseGlobal } from '../parse/parse-global.js'
import { loadSqlParser, type SqlParser } from '../parse/parse-sql.js'
import type { ShardedDatabase } from '../placement/sharded-database.js'
import { type ParameterValue, streamedMerge, type Versions } from '../plan/index.js'
import { SQL_API } from './openapi-sql.js'
import { answerText, linesText } from './sql-answers.js'
import { NDJSON_TYPE, SqlStreams, streamHeaders } from './sql-streams.js'

/**
 * The routes over a database, for `capabilities` of `createFreshetServer`. Without a database they are refused as unknown.
 * Closing the server does not close the database.
 */
export function joinShards(database: ShardedDatabase | undefined): JoinCapability {
  return host => new SqlRoutes(host, database)
}

interface Parts {
  readonly database: ShardedDatabase
  readonly arbitrator: Arbitrator
  readonly coordinator: QueryCoordinator
}

/** Tells caches that there are two forms of an answer. */
const VARIES: readonly string[] = ['Vary', 'Accept']
const VALUES_MAX = 1000
const VALUES_DEPTH_MAX = 2
/** The most of a statement that the audit keeps. */
const AUDITED_CHARACTERS_MAX = 4000
/** How long a cache keeps a result at a position. No client asks for that position once the result is outdated. */
const LASTING = 'public, max-age=3600'

class SqlRoutes implements Capability {
  readonly api = SQL_API
  readonly has: Capability['has']
  readonly #host: CapabilityHost
  readonly #parts: Parts | undefined
  readonly #streams: SqlStreams
  #parser: Promise<SqlParser> | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(host: CapabilityHost, database: ShardedDatabase | undefined) {
    this.#host = host
    this.has = { shards: database !== undefined }
    const { settings, log, replies } = host
    this.#streams = new SqlStreams(replies, settings)
    if (database === undefined) return
    const arbitrator = new Arbitrator({ database, settings, log })
    const coordinator = new QueryCoordinator({ database, arbitrator, settings, parser: () => this.#loadParser() })
    this.#parts = { database, arbitrator, coordinator }
  }

  routes(): readonly Route[] {
    return [
      {
        pattern: '/sql',
        methods: {
          GET: { access: 'admin', handle: call => this.#get(call), parameters: ['q', 'p', 'at', 'explain'] },
          POST: { access: 'admin', handle: call => this.#post(call), takesBody: true },
        },
      },
      {
        pattern: '/sql/versions',
        methods: { GET: { access: 'admin', handle: call => this.#versions(call), parameters: ['nonce'] } },
      },
      {
        pattern: '/global',
        methods: {
          GET: { access: 'admin', handle: async () => jsonAnswer(200, await this.#required().arbitrator.status()) },
          POST: { access: 'admin', handle: call => this.#write(call), takesBody: true },
        },
      },
    ]
  }

  start(): void {
    this.#parts?.arbitrator.start()
    // Writes may have gone through other servers.
    this.#timer = setInterval(() => this.#refreshAhead(), this.#host.settings.globalIntervalMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#parts?.arbitrator.stop()
  }

  gauges(): readonly Gauge[] {
    if (this.#parts === undefined) return []
    const { coordinator } = this.#parts
    return [
      counter(
        'freshet_sql_refetches',
        'Shards asked again because they were behind others.',
        () => coordinator.refetches,
      ),
      counter('freshet_sql_holds', 'Times that global writes had to wait for a query.', () => coordinator.holds),
      counter(
        'freshet_sql_part_hits',
        'Shards not asked because their earlier answer still held.',
        () => coordinator.partHits,
      ),
      counter(
        'freshet_sql_refreshed',
        'Results computed again after a global write, before a client asked for them.',
        () => coordinator.refreshed,
      ),
      gauge('freshet_sql_streams', 'Queries over shards whose rows are being streamed.', () => this.#streams.size),
      counter(
        'freshet_sql_streams_cut',
        'Streams of rows that were ended by an error, or because they took too long.',
        () => this.#streams.cut,
      ),
    ]
  }

  async #get({ exchange, caller, parameters }: Call): Promise<Answer | undefined> {
    const { coordinator, database } = this.#required()
    const text = parameters.get('q')
    if (text === undefined) throw new FreshetError('PARAMETER_INVALID', 'q is missing: the query.')
    const floor = parameters.has('at') ? readPosition('at', parameters.get('at')!) : 0
    const isFloorEnough = parameters.has('at')
    const asked = { text, values: readValues(parseValues(parameters.get('p'))), floor, isFloorEnough }
    this.#noteQuery(caller, text)
    if (parameters.has('explain')) return jsonAnswer(200, await this.#explain(asked), VARIES)
    if (wantsLines(exchange)) return this.#lines(exchange, asked)
    const result = await coordinator.answer(asked)
    if (database.hasLocalWrites) return jsonTextAnswer(answerText(result, false), VARIES)
    const etag = versionsTag(result.versions)
    const shared = parameters.has('at') ? LASTING : 'no-cache'
    const headers = ['Cache-Control', caller === undefined ? shared : PRIVATE, 'ETag', etag, ...VARIES]
    const known = exchange.request.headers['if-none-match']
    if (known?.split(/\s*,\s*/).some(tag => tag.replace(/^W\//, '') === etag))
      return { status: 304, headers, isCacheable: true }
    return {
      status: 200,
      headers: ['Content-Type', JSON_TYPE, ...NO_SNIFF, ...headers],
      body: `${answerText(result, true)}\n`,
      isCacheable: true,
    }
  }

  async #post({ exchange, caller }: Call): Promise<Answer | undefined> {
    const { coordinator, database } = this.#required()
    const { q, p, at = 0, explain } = await this.#body(exchange, ['q', 'p', 'at', 'explain'])
    if (!Number.isSafeInteger(at) || Number(at) < 0) throw invalid('at must be a position')
    const asked = { text: textOf(q), values: readValues(p), floor: Number(at) }
    this.#noteQuery(caller, asked.text)
    if (explain === true) return jsonAnswer(200, await this.#explain(asked))
    if (wantsLines(exchange)) return this.#lines(exchange, asked)
    return jsonTextAnswer(answerText(await coordinator.answer(asked), !database.hasLocalWrites))
  }

  /** Streams rows as they arrive; a result that must be merged first is sent in the same form. */
  async #lines(exchange: Exchange, asked: AskedSql): Promise<Answer | undefined> {
    const { coordinator, database } = this.#required()
    const headersOf = ({ versions }: { readonly versions: Versions }) =>
      streamHeaders([...VARIES, ...(database.hasLocalWrites ? [] : ['ETag', versionsTag(versions)])])
    const isSent = await this.#streams.send(exchange, () => coordinator.open(asked), headersOf)
    if (isSent) return undefined
    const result = await coordinator.answer(asked)
    return { status: 200, headers: headersOf(result), body: linesText(result) }
  }

  async #write({ exchange, caller }: Call): Promise<Answer> {
    const { arbitrator, database } = this.#required()
    const body = await readBody(exchange, this.#host.settings.bodyBytesMax, 'bodyBytesMax')
    const { q, p } = membersOf(body, ['q', 'p'])
    const operation = readOperation(exchange.request, body, caller)
    const write = parseGlobal(await this.#loadParser(), database.map, textOf(q), readValues(p))
    await this.#recordWrite(caller, textOf(q))
    const answer = await arbitrator.write(write, {
      id: operation && nameOf(operation.id),
      fingerprint: operation?.fingerprint ?? '',
    })
    this.#refreshAhead()
    return jsonAnswer(answer.pending.length === 0 ? 200 : 202, answer, answer.replayed ? REPLAYED : [])
  }

  /** Notes the statement without its values, which are data. Without access rules the server does not know its callers. */
  #noteQuery(caller: Caller | undefined, text: string): void {
    if (caller !== undefined) this.#host.trail.note(statementBy(caller, 'sql', text))
  }

  async #recordWrite(caller: Caller | undefined, text: string): Promise<void> {
    if (caller !== undefined) await this.#host.trail.record(statementBy(caller, 'global', text))
  }

  async #versions({ parameters }: Call): Promise<Answer> {
    const nonce = readNonce(parameters)
    const seen = await this.#required().coordinator.view.look()
    const head: SqlHead = { position: seen.head, versions: versionsIn(seen), ...nonce }
    return jsonAnswer(200, head)
  }

  /** Computes results again that are requested often. If one fails, the next client that requests it gets the error. */
  #refreshAhead(): void {
    this.#parts?.coordinator.refreshAhead().catch(() => undefined)
  }

  async #explain(asked: AskedSql): Promise<SqlExplanation> {
    const plan = await this.#required().coordinator.plan(asked)
    return {
      way: plan.merge.kind,
      streams: streamedMerge(plan.merge) !== undefined,
      tables: plan.tables,
      asked: plan.servers.map(({ name }, i) => {
        const { text, values } = plan.parts[i]!.statement
        return { shard: name, statement: text, values }
      }),
    }
  }

  async #body(exchange: Call['exchange'], known: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
    return membersOf(await readBody(exchange, this.#host.settings.bodyBytesMax, 'bodyBytesMax'), known)
  }

  #loadParser(): Promise<SqlParser> {
    this.#parser ??= loadSqlParser()
    return this.#parser
  }

  #required(): Parts {
    if (this.#parts) return this.#parts
    throw new FreshetError(
      'ROUTE_UNKNOWN',
      'This server has no shards. Name them in its config: docs/guides/shards.md.',
    )
  }
}

/** Equal each time that the operation is sent, unlike what our clients report as settled. */
function nameOf(id: OperationId): string {
  return id.kind === 'foreign' ? id.id : `${id.client}.${id.sequence}`
}

/** HTTP/1.0 has no chunks: an answer that is cut off would look complete. */
function wantsLines({ request: { headers, httpVersionMinor } }: Exchange): boolean {
  return httpVersionMinor > 0 && prefers(headers.accept, [JSON_TYPE, NDJSON_TYPE]) === NDJSON_TYPE
}

function membersOf(body: Uint8Array, known: readonly string[]): Readonly<Record<string, unknown>> {
  const members = readMembers(body, VALUES_DEPTH_MAX)
  const unknown = Object.keys(members).find(name => !known.includes(name))
  if (unknown !== undefined)
    throw invalid(`it has ${JSON.stringify(unknown.slice(0, 40))}, but only ${known.join(', ')} are allowed`)
  return members
}

function textOf(q: unknown): string {
  if (typeof q === 'string') return q
  throw invalid('q must be text: the statement')
}

function parseValues(text: string | undefined): unknown {
  const number = inexactNumber(text ?? '')
  if (number !== undefined) {
    throw new FreshetError(
      'PARAMETER_INVALID',
      `A number in p, ${number.slice(0, 40)}, would be rounded. Send it as text: "${number.slice(0, 40)}".`,
    )
  }
  try {
    return text === undefined ? [] : JSON.parse(text)
  } catch (cause) {
    throw new FreshetError('PARAMETER_INVALID', 'p must be a list in JSON, such as [1,"a"].', { cause })
  }
}

function readValues(p: unknown = []): readonly ParameterValue[] {
  const isValue = (value: unknown) =>
    value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value)
  if (Array.isArray(p) && p.length <= VALUES_MAX && p.every(isValue)) return p as ParameterValue[]
  throw invalid(
    `p must be a list of at most ${VALUES_MAX} texts, numbers, booleans and nulls: the values of $1, $2 and so on`,
  )
}

function invalid(reason: string): FreshetError {
  return new FreshetError(
    'BODY_INVALID',
    `This is not a statement: ${reason}. Send {"q":"select ... where id = $1","p":[7]}.`,
  )
}

function statementBy({ subject, from }: Caller, what: 'sql' | 'global', text: string): Audited {
  return { who: subject, from, what, before: null, after: text.slice(0, AUDITED_CHARACTERS_MAX) }
}
