/**
 * `GET /db/{namespace}/{bucket}?where=...`: a page of a query's result, from one state. Caches may keep it like a list. Its
 * version is that of what it depends on, which the answer states: the tags of the changes that could change it, or the bucket
 * if no index has such tags. So a reader that has the current version gets 304, and the query is not run.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { type Candidate, cursorAt, orderOf } from '@freshet/core/queries'
import type { QueryPage, StoredEntry } from '@freshet/core/store'
import {
  FreshetError,
  formatEtag,
  formatQuery,
  type Key,
  type Position,
  parseQuery,
  pathOfKey,
  QUERY_LIMIT_DEFAULT,
  type Query,
  type QueryExplanation,
} from '@freshet/protocol'
import { type Caller, PRIVATE } from '../../access/caller.js'
import { bucketNotFound } from '../../buckets/refusals.js'
import { type Answer, jsonAnswer, redirectAnswer } from '../../http/answer.js'
import { type Parameters, parameterInvalid } from '../../http/request-target.js'
import { project } from '../../json/projection.js'
import type { Metrics } from '../../monitoring/metrics.js'
import type { Call } from '../../routing/call.js'
import { overLimit } from '../../settings/limits.js'
import { answerJudged, type PlacedAnswer } from './answer-judged.js'
import { type PageReaderOptions, placedPage, unchangedPage } from './page-answer.js'

export interface QueryReaderOptions extends PageReaderOptions {
  readonly metrics: Metrics
}

export const QUERY_PARAMETERS: readonly string[] = ['after', 'at', 'explain', 'fields', 'limit', 'sort', 'where']
/** The parameters that only a query has. */
const OF_QUERIES = ['explain', 'fields', 'sort', 'where']

export function isQuery(parameters: Parameters): boolean {
  return OF_QUERIES.some(name => parameters.has(name))
}

interface AskedQuery {
  readonly key: Key
  readonly query: Query
  readonly at: Position
  /** Whether everybody may see the result, so that caches may keep it. */
  readonly isOpen: boolean
}

/** Has no version if that would reveal changes of objects that are hidden from its reader. */
type ShownPage = Pick<QueryPage, 'entries' | 'next'> & Partial<Pick<QueryPage, 'version' | 'dependsOn'>>

interface Rendered {
  readonly body: Buffer
  readonly count: number
}

export class QueryReader {
  readonly #options: QueryReaderOptions

  constructor(options: QueryReaderOptions) {
    this.#options = options
  }

  async query(key: Key, call: Call): Promise<Answer> {
    const { exchange, parameters, caller } = call
    caller?.check('list', key)
    const other = [...parameters.keys()].find(name => !QUERY_PARAMETERS.includes(name))
    if (other !== undefined)
      throw parameterInvalid(`${other} is a parameter of lists, and cannot be combined with a query.`)
    const query = this.#withinLimit(queryOf(parameters))
    const canonical = canonicalQuery(query, parameters)
    // The router has already made sure that the path is canonical.
    if (!exchange.request.url!.endsWith(canonical)) return redirectAnswer(pathOfKey(key) + canonical)
    return answerJudged(call, this.#options, at => this.#answer(key, query, call, at))
  }

  async #answer(key: Key, query: Query, { exchange, parameters, caller }: Call, at: Position): Promise<PlacedAnswer> {
    caller?.check('list', key)
    this.#checkBucket(key)
    const isOpen = caller === undefined || caller.seesWhatAllSee(key)
    if (parameters.has('explain')) {
      // The explanation says how many objects there are.
      if (!isOpen) caller.checkAdmin()
      return this.#explain(key, query)
    }
    const { headers } = exchange.request
    if (caller !== undefined && !caller.seesAllOf(key)) return this.#runVisible(key, query, caller, headers)
    const asked = { key, query, at, isOpen }
    return (await this.#unchanged(asked, headers['if-none-match'])) ?? this.#run(asked, headers)
  }

  #checkBucket(key: Key): void {
    const { follower, buckets } = this.#options
    const kind = buckets.get(key)?.settings.kind
    if (kind === undefined) throw bucketNotFound(key, follower.position)
    if (kind !== 'object') {
      throw new FreshetError('QUERY_INVALID', `${key} holds bytes, not objects with fields that could be queried.`)
    }
  }

  async #unchanged(asked: AskedQuery, ifNoneMatch: string | undefined): Promise<PlacedAnswer | undefined> {
    const { key, query } = asked
    if (ifNoneMatch === undefined) return undefined
    const { version, position } = await this.#options.store.queryVersion(key, query)
    return unchangedPage({ cacheControl: this.#cacheControl(asked, version), version, position }, ifNoneMatch)
  }

  async #run(asked: AskedQuery, headers: IncomingHttpHeaders): Promise<PlacedAnswer> {
    const page = await this.#find(asked.key, asked.query)
    const { version, position } = page
    const facts = { cacheControl: this.#cacheControl(asked, version), version, position }
    return placedPage(this.#options, asked.key, facts, (await this.#render(page, asked.query)).body, headers)
  }

  /** For a caller who sees only some of the objects: the result reveals nothing about the others, and its cursor is sealed. */
  async #runVisible(key: Key, asked: Query, caller: Caller, headers: IncomingHttpHeaders): Promise<PlacedAnswer> {
    const { rows, seals } = this.#options
    const { after: sealed, limit = QUERY_LIMIT_DEFAULT, ...question } = asked
    const seal = seals.of(caller, key, formatQuery(question))
    const query = { ...question, limit, ...(sealed === undefined ? {} : { after: await seal.open(sealed) }) }
    const { entries, hasMore, version, dependsOn, position } = await rows.query(key, caller, query)
    const page = {
      entries,
      ...(hasMore ? { next: cursorAfter(query, entries.at(-1)!) } : {}),
      ...(version === undefined ? {} : { version, dependsOn: dependsOn ?? [] }),
    }
    const { body } = await this.#render(page, query, seal.seal)
    return placedPage(this.#options, key, { cacheControl: PRIVATE, version, position }, body, headers)
  }

  async #explain(key: Key, query: Query): Promise<PlacedAnswer> {
    const page = await this.#find(key, query)
    const { plan, examined, version, position, dependsOn } = page
    const explanation: QueryExplanation = {
      plan,
      examined,
      found: (await this.#render(page, query)).count,
      version,
      ...(dependsOn === 'bucket' ? {} : { dependsOn }),
    }
    const headers = ['ETag', formatEtag(version), 'Freshet-Position', `${position}`]
    return { answer: jsonAnswer(200, explanation, headers), position }
  }

  async #find(key: Key, query: Query): Promise<QueryPage> {
    const { store, metrics, settings } = this.#options
    const limit = Math.min(query.limit ?? QUERY_LIMIT_DEFAULT, settings.listLimitMax)
    const page = await store.query(key, { ...query, limit })
    metrics.queries.value++
    metrics.queryExamined.value += page.examined
    return page
  }

  #cacheControl({ key, at, isOpen }: AskedQuery, version: number): string {
    if (!isOpen) return PRIVATE
    return this.#options.buckets.cacheControl({ key, version, isAt: at !== 0 })
  }

  #withinLimit(query: Query): Query {
    const { listLimitMax } = this.#options.settings
    if (query.limit === undefined || query.limit <= listLimitMax) return query
    throw overLimit({
      code: 'LIMIT_EXCEEDED',
      limit: 'listLimitMax',
      what: `${query.limit} objects were requested with limit, more than the ${listLimitMax} that one page can hold on this server.`,
      instead: 'Request several pages',
      details: { listLimitMax },
    })
  }

  /** A page that gets too long is cut, and the next one continues from there. */
  async #render({ entries, next, version, dependsOn }: ShownPage, query: Query, seal = unsealed): Promise<Rendered> {
    const parts: Uint8Array[] = [Buffer.from('{"items":[')]
    let bytes = 0
    let count = 0
    let cursor = next
    for (const entry of entries) {
      const head = `${count === 0 ? '' : ','}{"id":${JSON.stringify(entry.id)},"version":${entry.version},"value":`
      const value = shownOf(entry, query.fields)
      bytes += head.length + value.length
      if (count > 0 && bytes > this.#options.settings.listBytesMax) {
        cursor = cursorAfter(query, entries[count - 1]!)
        break
      }
      parts.push(Buffer.from(head), value, CLOSE)
      count++
    }
    const tail = {
      ...(cursor === undefined ? {} : { next: await seal(cursor) }),
      ...(version === undefined ? {} : { version }),
      ...(dependsOn === undefined || dependsOn === 'bucket' ? {} : { dependsOn }),
    }
    const rest = JSON.stringify(tail).slice(1)
    parts.push(Buffer.from(rest === '}' ? ']}\n' : `],${rest}\n`))
    return { body: Buffer.concat(parts), count }
  }
}

const CLOSE = Buffer.from('}')
const unsealed = async (cursor: string) => cursor

/** `after` is parsed later, once the reader of the cursor is known. */
function queryOf(parameters: Parameters): Query {
  const after = parameters.get('after')
  const query = parseQuery(new Map([...parameters].filter(([name]) => name !== 'after')))
  return after === undefined ? query : { ...query, after }
}

/** The stored bytes, unchanged unless only some of the fields are requested. */
function shownOf({ body }: StoredEntry, fields: readonly string[] | undefined): Uint8Array {
  if (fields === undefined) return body
  return Buffer.from(JSON.stringify(project(parsed(body), fields)))
}

function parsed(body: Uint8Array): object {
  return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as object
}

function cursorAfter(query: Query, { id, body }: StoredEntry): string {
  const candidate: Candidate = { id, value: parsed(body) }
  return cursorAt(orderOf(query), candidate)
}

/** The canonical spelling, so that caches keep one copy; with the question mark. */
function canonicalQuery(query: Query, parameters: Parameters): string {
  const more = parameters.has('at') ? { at: parameters.get('at')! } : {}
  const spelled = formatQuery(query, more)
  return `?${parameters.has('explain') ? withExplain(spelled) : spelled}`
}

function withExplain(spelled: string): string {
  return [...spelled.split('&'), 'explain'].sort().join('&')
}
