/**
 * `GET /db/{namespace}/{bucket}?where=...`: a page of what a query finds, from one state. Caches may keep it like a list. Its
 * version is that of what it hangs on, which it says itself: the tags of the changes that could change it, or, where no index
 * gives it any, the bucket. So who has that version is told so without the query being run.
 */
import { type Candidate, cursorAt, orderOf } from '@freshet/core/queries'
import type { QueryPage, Store, StoredEntry } from '@freshet/core/store'
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
  readPosition,
} from '@freshet/protocol'
import { type Caller, PRIVATE } from '../access/caller.js'
import type { LogFollower } from '../coherence/log-follower.js'
import type { PositionWaits } from '../coherence/position-waits.js'
import { type Answer, jsonAnswer, redirectAnswer } from '../http/answer.js'
import type { Call } from '../http/call.js'
import { hasVersion } from '../http/conditions.js'
import { type Parameters, parameterInvalid } from '../http/request-target.js'
import { tagsOf } from '../invalidation/tags.js'
import type { Metrics } from '../operations/metrics.js'
import type { ServerSettings } from '../settings.js'
import { answerJudged, type PlacedAnswer } from './answer-judged.js'
import type { BucketDirectory } from './bucket-directory.js'
import { pageAnswer, unchangedPage } from './page-answer.js'
import { project } from './projection.js'
import { bucketNotFound } from './refusals.js'

export interface QueryReaderOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly waits: PositionWaits
  readonly buckets: BucketDirectory
  readonly metrics: Metrics
  readonly tagHeaders: readonly string[]
}

export const QUERY_PARAMETERS: readonly string[] = ['after', 'at', 'explain', 'fields', 'limit', 'sort', 'where']
/** Those that only a query has. */
const OF_QUERIES = ['explain', 'fields', 'sort', 'where']

export function isQuery(parameters: Parameters): boolean {
  return OF_QUERIES.some(name => parameters.has(name))
}

interface AskedQuery {
  readonly key: Key
  readonly query: Query
  readonly at: Position
  /** Who sees only what they may read; undefined where everybody sees the same. */
  readonly caller: Caller | undefined
}

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
    const { exchange, parameters } = call
    const other = [...parameters.keys()].find(name => !QUERY_PARAMETERS.includes(name))
    if (other !== undefined) throw parameterInvalid(`${other} is of lists, and does not go with a query.`)
    const query = this.#withinLimit(parseQuery(parameters))
    const canonical = canonicalQuery(query, parameters)
    // The router has seen to the path.
    if (!exchange.request.url!.endsWith(canonical)) return redirectAnswer(pathOfKey(key) + canonical)
    const { waits, follower } = this.#options
    const at = parameters.has('at') ? readPosition('at', parameters.get('at')!) : 0
    await follower.catchUpTo(await waits.reach(at))
    return answerJudged(exchange.caller, follower, () => this.#answer(key, query, call, at))
  }

  async #answer(key: Key, query: Query, { exchange, parameters }: Call, at: Position): Promise<PlacedAnswer> {
    const { caller } = exchange
    caller?.check('list', key)
    this.#checkBucket(key)
    const reader = caller === undefined || caller.seesWhatAllSee(key) ? undefined : caller
    if (parameters.has('explain')) {
      // It tells how many there are, also of those that one may not see.
      reader?.checkAdmin()
      return this.#explain(key, query)
    }
    const { headers } = exchange.request
    const asked = { key, query, at, caller: reader }
    return (await this.#unchanged(asked, headers['if-none-match'])) ?? this.#run(asked, headers)
  }

  #checkBucket(key: Key): void {
    const { follower, buckets } = this.#options
    const kind = buckets.get(key)?.settings.kind
    if (kind === undefined) throw bucketNotFound(key, follower.position)
    if (kind !== 'object') {
      throw new FreshetError('QUERY_INVALID', `${key} holds bytes, not objects with fields that could be asked for.`)
    }
  }

  async #unchanged(asked: AskedQuery, ifNoneMatch: string | undefined): Promise<PlacedAnswer | undefined> {
    const { key, query } = asked
    if (ifNoneMatch === undefined) return undefined
    const { version, position } = await this.#options.store.queryVersion(key, query)
    if (!hasVersion(ifNoneMatch, version)) return undefined
    return { answer: unchangedPage({ cacheControl: this.#cacheControl(asked, version), version, position }), position }
  }

  async #run(asked: AskedQuery, headers: Call['exchange']['request']['headers']): Promise<PlacedAnswer> {
    const { settings, tagHeaders } = this.#options
    const { key, query, caller } = asked
    const page = caller === undefined ? await this.#find(key, query) : await this.#findVisible(key, query, caller)
    const { version, position } = page
    const facts = { cacheControl: this.#cacheControl(asked, version), version, position }
    const { body } = this.#render(page, query)
    const answer = await pageAnswer(
      facts,
      body,
      headers['accept-encoding'] as string | undefined,
      settings.compressBytesMin,
    )
    return { answer: { ...answer, headers: [...answer.headers, ...tagsOf(tagHeaders, key)] }, position }
  }

  async #explain(key: Key, query: Query): Promise<PlacedAnswer> {
    const page = await this.#find(key, query)
    const { plan, examined, version, position, dependsOn } = page
    const explanation: QueryExplanation = {
      plan,
      examined,
      found: this.#render(page, query).count,
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

  /** As lists do it: the cursor tells only of what was shown, and a page is from one state. */
  async #findVisible(key: Key, query: Query, caller: Caller): Promise<QueryPage> {
    const limit = Math.min(query.limit ?? QUERY_LIMIT_DEFAULT, this.#options.settings.listLimitMax)
    let page = await this.#find(key, query)
    const entries: StoredEntry[] = []
    for (;;) {
      const { next: reached, ...rest } = page
      const visible = page.entries.filter(entry => caller.may('read', `${key}/${entry.id}`, entry))
      const room = limit - entries.length
      entries.push(...visible.slice(0, room))
      const last = entries.at(-1)
      if (reached === undefined && visible.length <= room) return { ...rest, entries }
      const cut = () => ({ ...rest, entries, next: cursorAfter(query, last!) })
      if (last !== undefined && entries.length >= limit) return cut()
      const following = await this.#find(key, { ...query, after: reached! })
      if (last !== undefined && following.version !== page.version) return cut()
      page = following
    }
  }

  #cacheControl({ key, at, caller }: AskedQuery, version: number): string {
    if (caller !== undefined) return PRIVATE
    return this.#options.buckets.cacheControl({ key, version, isAt: at !== 0 })
  }

  #withinLimit(query: Query): Query {
    const { listLimitMax } = this.#options.settings
    if (query.limit === undefined || query.limit <= listLimitMax) return query
    throw new FreshetError(
      'LIMIT_EXCEEDED',
      `limit is more than the ${listLimitMax} that one page may hold. Ask for less.`,
      { details: { listLimitMax } },
    )
  }

  /** A page that gets too long is cut, and the next one goes on from there. */
  #render({ entries, next, version, dependsOn }: QueryPage, query: Query): Rendered {
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
      ...(cursor === undefined ? {} : { next: cursor }),
      version,
      ...(dependsOn === 'bucket' ? {} : { dependsOn }),
    }
    parts.push(Buffer.from(`],${JSON.stringify(tail).slice(1)}\n`))
    return { body: Buffer.concat(parts), count }
  }
}

const CLOSE = Buffer.from('}')

/** The stored bytes are put in as they are, unless only some of the fields are wanted. */
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

/** The one spelling, so that caches keep one copy; with the question mark. */
function canonicalQuery(query: Query, parameters: Parameters): string {
  const more = parameters.has('at') ? { at: parameters.get('at')! } : {}
  const spelled = formatQuery(query, more)
  return `?${parameters.has('explain') ? withExplain(spelled) : spelled}`
}

function withExplain(spelled: string): string {
  return [...spelled.split('&'), 'explain'].sort().join('&')
}
