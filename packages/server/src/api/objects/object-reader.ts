/**
 * `GET /db/{ns}/{bucket}/{id}`: the read path, hot enough that each step on it was measured. If the store answers
 * synchronously, so does this: no promise, no turn of the event loop, one write to the socket.
 *
 * The position that goes with an answer is read before the value, so it may be too low, but never too high. The bucket
 * directory is brought up to that position first, so no lifetime is sent that the change log has already taken back. So are the
 * rules, which may have changed since the request was admitted.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MaybePromise, Store, StoredValue } from '@freshet/core/store'
import { type Coding, FreshetError, formatEtag, type Key, type Position, type Version } from '@freshet/protocol'
import type { Access, Admission } from '../../access/access.js'
import { type Caller, PRIVATE } from '../../access/caller.js'
import type { AccessRules } from '../../access/rules/access-rules.js'
import type { BucketDirectory } from '../../buckets/bucket-directory.js'
import { versionConflict } from '../../buckets/refusals.js'
import { type HotObject, type HotObjects, type ReadyHeads, toHotObject } from '../../coherence/hot-objects.js'
import type { LogFollower } from '../../coherence/log-follower.js'
import type { PositionWaits } from '../../coherence/position-waits.js'
import { hasVersion, holds, readConditions } from '../../http/conditions.js'
import { CompressedForms, chooseCoding } from '../../http/content-coding.js'
import type { Cors } from '../../http/cors.js'
import { Exchange } from '../../http/exchange.js'
import { type LimitLeft, limitHeaders } from '../../http/limit-headers.js'
import { isPromise } from '../../http/maybe-promise.js'
import type { Replies } from '../../http/replies.js'
import type { ResponseDeadlines } from '../../http/response-deadlines.js'
import { formatHead, type WholeAnswers } from '../../http/whole-answers.js'
import { tagsOf } from '../../invalidation/tags.js'
import type { Counter, Histogram, Metrics } from '../../monitoring/metrics.js'
import type { ServerRecorder } from '../../recording/server-recorder.js'
import type { ServerSettings } from '../../settings/server-settings.js'

export const OBJECT_ROUTE = '/db/{namespace}/{bucket}/{id}'
/** What a read of an object requires. */
export const READING: Admission = { access: 'rules', rights: ['read'] }
/** A learnt lifetime grows while nothing is written, in steps of a second. */
const LEARNT_HEADS_MS = 1000

export interface ObjectReaderOptions {
  readonly store: Store
  readonly access: Access
  readonly settings: ServerSettings
  readonly follower: LogFollower
  readonly waits: PositionWaits
  readonly buckets: BucketDirectory
  readonly hot: HotObjects
  readonly cors: Cors
  readonly deadlines: ResponseDeadlines
  readonly metrics: Metrics
  readonly replies: Replies
  readonly whole: WholeAnswers
  readonly logsRequests: boolean
  readonly recorder: ServerRecorder | undefined
  /** Usually none. */
  readonly tagHeaders: readonly string[]
}

/** One read. */
export interface ObjectRead {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly startedMs: number
  readonly key: Key
  readonly at: Position
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  /** Undefined: everybody may read the object, by `rules`. */
  readonly caller: Caller | undefined
  readonly rules: AccessRules
  readonly limitsLeft: LimitLeft[] | undefined
  /** Not everybody may read the object, so no cache may keep the answer. Set when the read is judged. */
  isPrivate: boolean
}

export class ObjectReader {
  readonly #options: ObjectReaderOptions
  readonly #store: Store
  readonly #access: Access
  readonly #follower: LogFollower
  readonly #buckets: BucketDirectory
  readonly #hot: HotObjects
  readonly #whole: WholeAnswers
  readonly #recorder: ServerRecorder | undefined
  readonly #tagHeaders: readonly string[]
  readonly #compressBytesMin: number
  readonly #compressed: CompressedForms
  readonly #originReads: Counter
  readonly #notModified: Counter
  readonly #ok: Counter
  readonly #unchanged: Counter
  readonly #latency: Histogram
  #asked: Promise<Position> | undefined
  #reaching: Promise<void> | undefined

  constructor(options: ObjectReaderOptions) {
    this.#options = options
    this.#store = options.store
    this.#access = options.access
    this.#follower = options.follower
    this.#buckets = options.buckets
    this.#hot = options.hot
    this.#whole = options.whole
    this.#recorder = options.recorder
    this.#tagHeaders = options.tagHeaders
    this.#compressBytesMin = options.settings.compressBytesMin
    this.#compressed = new CompressedForms(options.settings.compressedCacheBytesMax)
    this.#originReads = options.metrics.originReads
    this.#notModified = options.metrics.notModified
    this.#ok = options.metrics.requests(OBJECT_ROUTE, 'GET', 200)
    this.#unchanged = options.metrics.requests(OBJECT_ROUTE, 'GET', 304)
    this.#latency = options.metrics.latency(OBJECT_ROUTE)
  }

  /** Sends the answer, now or later; also errors. */
  read(read: ObjectRead): void {
    try {
      const done = this.#begin(read)
      if (isPromise(done)) done.catch(error => this.#fail(read, error))
    } catch (error) {
      this.#fail(read, error)
    }
  }

  /** For reads within the process. The caller gets a copy of a cached object. */
  get(key: Key): Promise<StoredValue | undefined> {
    try {
      const reaching = this.#reachNow()
      return isPromise(reaching) ? reaching.then(() => this.#find(key)) : Promise.resolve(this.#find(key))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #find(key: Key): MaybePromise<StoredValue | undefined> {
    const hot = this.#hot.get(key)
    if (hot !== undefined) return copyOf(hot)
    return this.#fetch(key, this.#store.get(key, this.#follower.position)).then(found => found && copyOf(found))
  }

  /**
   * Resolves when the follower has everything that the store has now. Callers to whom the store gives the same answer share one
   * promise.
   */
  #reachNow(): MaybePromise<void> {
    const position = this.#store.position()
    if (!isPromise(position)) return this.#follower.catchUpTo(position)
    if (position !== this.#asked) {
      this.#asked = position
      this.#reaching = position.then(reached => this.#follower.catchUpTo(reached))
    }
    return this.#reaching
  }

  #begin(read: ObjectRead): MaybePromise<void> {
    const position = this.#store.position()
    if (typeof position !== 'number' || position < read.at) return this.#reach(read, position)
    if (position !== this.#follower.position) {
      const catchingUp = this.#follower.catchUpTo(position)
      if (isPromise(catchingUp)) return catchingUp.then(() => this.#get(read, position))
    }
    return this.#get(read, position)
  }

  async #reach(read: ObjectRead, asked: MaybePromise<Position>): Promise<void> {
    const now = await asked
    const position = now < read.at ? await this.#options.waits.reach(read.at) : now
    await this.#follower.catchUpTo(position)
    await this.#get(read, position)
  }

  #get(read: ObjectRead, position: Position): MaybePromise<void> {
    const hot = this.#hot.get(read.key)
    if (hot !== undefined) return this.#judge(read, position, hot)
    // Must be no older than the hot objects, since it may become one.
    const value = this.#store.get(read.key, Math.max(position, this.#follower.position))
    if (isPromise(value)) return this.#answerLater(read, position, value)
    const object = value && this.#prepare(value)
    if (object !== undefined) this.#hot.put(read.key, object)
    return this.#judge(read, position, object)
  }

  async #answerLater(read: ObjectRead, position: Position, asked: Promise<StoredValue | undefined>): Promise<void> {
    await this.#judge(read, position, await this.#fetch(read.key, asked))
  }

  /** Keeps the value as a hot object, unless it has changed by the time it arrives. */
  async #fetch(key: Key, asked: MaybePromise<StoredValue | undefined>): Promise<HotObject | undefined> {
    const awaited = this.#hot.await(key)
    let object: HotObject | undefined
    try {
      const found = await asked
      object = found && this.#prepare(found)
    } finally {
      this.#hot.fill(awaited, object)
    }
    return object
  }

  #prepare(value: StoredValue): HotObject {
    return toHotObject(value, this.#compressBytesMin)
  }

  /** Judges by the rules as they are now, which include all changes that the log had when the object was written. */
  #judge(read: ObjectRead, position: Position, object: HotObject | undefined): MaybePromise<void> {
    const access = this.#access
    if (!access.isOn) return this.#answer(read, position, object)
    if (object !== undefined && object.version > this.#follower.position) {
      const catchingUp = this.#follower.catchUpTo(object.version)
      if (isPromise(catchingUp)) return catchingUp.then(() => this.#judge(read, position, object))
    }
    const { caller, rules, key } = read
    if (caller !== undefined) {
      judge(read, caller, position, object)
      return this.#answer(read, position, object)
    }
    if (rules === access.rules || access.isOpenRead(key)) return this.#answer(read, position, object)
    return this.#readIdentified(read)
  }

  /** The caller has not been identified yet, and now the answer depends on it. */
  async #readIdentified(read: ObjectRead): Promise<void> {
    const caller = await this.#access.admit(exchangeOf(read), READING, read.key)
    await this.#begin({ ...read, caller })
  }

  #answer(read: ObjectRead, position: Position, object: HotObject | undefined): void {
    this.#originReads.value++
    this.#recorder?.answered(read.key, object?.version ?? 0, position, read.startedMs)
    if (object === undefined) throw notFound(read.key, position)
    const { ifMatch, ifNoneMatch } = read
    if (ifMatch !== undefined) checkMatch(read, object.version)
    if (ifNoneMatch !== undefined && (ifNoneMatch === object.etag || hasVersion(ifNoneMatch, object.version))) {
      this.#answerUnchanged(read, position, object, ifNoneMatch)
      return
    }
    const coding = object.isVarying ? chooseCoding(acceptEncoding(read)) : undefined
    if (coding === undefined) this.#answerPlain(read, position, object)
    else this.#answerCompressed(read, position, object, coding).catch(error => this.#fail(read, error))
  }

  #answerUnchanged(read: ObjectRead, position: Position, object: HotObject, ifNoneMatch: string): void {
    // Repeats the tag of the request, since a cache picks the copy to refresh by it.
    const isOther = ifNoneMatch !== object.etag && ifNoneMatch.startsWith('"') && !ifNoneMatch.includes(',')
    if (!isOther && this.#canSendWhole(read)) {
      this.#sendWhole(read, 304, this.#readyHeads(read, position, object).unchanged, '')
    } else {
      this.#send(read, 304, this.#headersOfUnchanged(read, position, object, isOther ? ifNoneMatch : object.etag))
    }
  }

  #answerPlain(read: ObjectRead, position: Position, object: HotObject): void {
    if (object.text !== undefined && this.#canSendWhole(read)) {
      this.#sendWhole(read, 200, this.#readyHeads(read, position, object).ok, object.text)
    } else {
      this.#send(read, 200, this.#headersOfPlain(read, position, object), object.body)
    }
  }

  async #answerCompressed(read: ObjectRead, position: Position, object: HotObject, coding: Coding): Promise<void> {
    const body = await this.#compressed.get(`${object.version} ${read.key}`, object.body, coding)
    const headers = this.#headers(read, position, object, formatEtag(object.version, coding))
    headers.push('Content-Length', `${body.length}`, 'Content-Encoding', coding, ...object.headers)
    this.#send(read, 200, headers, body)
  }

  /** Made once for each position, and once a second if lifetimes are learnt. */
  #readyHeads(read: ObjectRead, position: Position, object: HotObject): ReadyHeads {
    const { revision } = this.#buckets
    const ready = read.at === 0 ? object.ready : object.readyAt
    if (ready?.position === position && ready.revision === revision && ready.isPrivate === read.isPrivate) {
      if (read.startedMs < ready.goodUntilMs) return ready
    }
    const made = this.#makeHeads(read, position, object)
    if (read.at === 0) object.ready = made
    else object.readyAt = made
    return made
  }

  #makeHeads(read: ObjectRead, position: Position, object: HotObject): ReadyHeads {
    return {
      position,
      revision: this.#buckets.revision,
      isPrivate: read.isPrivate,
      goodUntilMs: this.#buckets.isLearning(read.key) ? read.startedMs + LEARNT_HEADS_MS : Number.POSITIVE_INFINITY,
      ok: formatHead(200, this.#headersOfPlain(read, position, object)),
      unchanged: formatHead(304, this.#headersOfUnchanged(read, position, object, object.etag)),
    }
  }

  #headersOfPlain(read: ObjectRead, position: Position, object: HotObject): string[] {
    const headers = this.#headers(read, position, object, object.etag)
    headers.push('Content-Length', `${object.body.length}`, ...object.headers)
    return headers
  }

  #headersOfUnchanged(read: ObjectRead, position: Position, object: HotObject, etag: string): string[] {
    const headers = this.#headers(read, position, object, etag)
    if (object.isVarying) headers.push('Vary', 'Accept-Encoding')
    return headers
  }

  #headers(read: ObjectRead, position: Position, { version }: HotObject, etag: string): string[] {
    const { key, at, request } = read
    const cacheControl = read.isPrivate ? PRIVATE : this.#buckets.cacheControl({ key, version, isAt: at !== 0 })
    return [
      ...['ETag', etag, 'Cache-Control', cacheControl, 'Freshet-Position', `${position}`],
      ...this.#options.cors.headers(request),
      ...tagsOf(this.#tagHeaders, key),
      ...(read.isPrivate ? limitHeaders(read.limitsLeft ?? []) : []),
    ]
  }

  /** A head that states the caller's remaining limits is not cached. A server that is stopping says so in a head of its own. */
  #canSendWhole({ request, response, isPrivate, limitsLeft }: ObjectRead): boolean {
    const { cors, replies } = this.#options
    if (isPrivate && limitsLeft !== undefined && limitsLeft.length > 0) return false
    return cors.constant !== undefined && !replies.isStopping && this.#whole.canSend(request, response)
  }

  #sendWhole(read: ObjectRead, status: 200 | 304, head: string, body: string): void {
    const tookMs = performance.now() - read.startedMs
    if (!this.#canStillSend(read, tookMs)) return
    this.#whole.send(read.response, status, head, body)
    this.#sent(read, status, tookMs)
  }

  #send(read: ObjectRead, status: 200 | 304, headers: string[], body?: Uint8Array): void {
    const tookMs = performance.now() - read.startedMs
    if (!this.#canStillSend(read, tookMs)) return
    if (this.#options.replies.isStopping) headers.push('Connection', 'close')
    read.response.writeHead(status, headers).end(body)
    this.#sent(read, status, tookMs)
  }

  /** An answer that would come too late is not sent at all. */
  #canStillSend({ response }: ObjectRead, tookMs: number): boolean {
    if (response.destroyed) return false
    if (tookMs <= this.#options.settings.responseMsMax) return true
    response.destroy()
    return false
  }

  #sent(read: ObjectRead, status: 200 | 304, tookMs: number): void {
    this.#options.deadlines.watch(read.response, read.startedMs)
    this.#record(read, status, tookMs)
  }

  #record(read: ObjectRead, status: 200 | 304, tookMs: number): void {
    this.#latency.observe(tookMs)
    this.#options.metrics.ways.count(read.request.rawHeaders, status)
    if (status === 304) this.#notModified.value++
    if (read.request.method === 'GET') (status === 200 ? this.#ok : this.#unchanged).value++
    else this.#options.metrics.requests(OBJECT_ROUTE, 'HEAD', status).value++
    if (this.#options.logsRequests) this.#options.replies.logRequest(exchangeOf(read), status, tookMs)
  }

  #fail(read: ObjectRead, error: unknown): void {
    this.#options.replies.fail(exchangeOf(read), error)
  }
}

function copyOf({ version, contentType, body }: HotObject): StoredValue {
  // From Node's pool: takes a third of the time of an ArrayBuffer for each copy.
  return { version, contentType, body: Buffer.from(body) }
}

/**
 * Throws unless the caller may read the object. An absent object and one that the caller may not see get the same answer: the
 * one that the rules give for an absent object.
 */
function judge(read: ObjectRead, caller: Caller, position: Position, object: HotObject | undefined): void {
  const { key } = read
  caller.decideAnew()
  if (!caller.may('read', key, object)) throw caller.may('read', key) ? notFound(key, position) : caller.refusal()
  read.isPrivate = !caller.isOpen('read', key, object)
}

function exchangeOf({ request, response, startedMs, limitsLeft, caller }: ObjectRead): Exchange {
  const exchange = new Exchange(request, response, startedMs)
  exchange.subject = caller?.subject ?? ''
  if (limitsLeft !== undefined) exchange.limitsLeft = limitsLeft
  exchange.route = OBJECT_ROUTE
  return exchange
}

function acceptEncoding({ request }: ObjectRead): string | undefined {
  return request.headers['accept-encoding'] as string | undefined
}

function checkMatch({ request, key }: ObjectRead, version: Version): void {
  const { match } = readConditions(request.headers)
  if (match !== undefined && !holds({ match }, version)) throw versionConflict(key, version)
}

function notFound(key: Key, position: Position): FreshetError {
  return new FreshetError('OBJECT_NOT_FOUND', `There is no object ${key}, as of position ${position}.`, {
    details: { position },
  })
}
