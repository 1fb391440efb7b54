/**
 * A miniature server behind its own `fetch`, the platform's seam, so that tests can provoke every decision of the client. Its
 * sketch is the real one; its caches are whatever a test puts in between.
 */
import {
  createSketch,
  EVENT_TIME_MS,
  encodeSegmentBundle,
  formatNews,
  parseSegmentRefs,
  type Sketch,
} from '@freshet/core/coherence'
import {
  bucketOfKey,
  type ChangesEvent,
  type CommitRequest,
  FreshetError,
  formatEtag,
  keyOfPath,
  pathOfKey,
  toProblem,
} from '@freshet/protocol'
import type { Fetch } from '../http/transport.js'
import { mergePatch } from '../json/merge-patch.js'
import { FakeOperations } from './fake-operations.js'

export interface Sent {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  readonly cache: string | undefined
  readonly body: string
}

type Scripted = Response | Error | undefined | Promise<Response | Error | undefined>

const BASE = 'http://freshet.test'

export class FakeOrigin {
  readonly url: string = BASE
  readonly sent: Sent[] = []
  readonly objects: Map<string, { readonly version: number; readonly text: string }> = new Map()
  log = 'log-1'
  position = 0
  /** The clock of the origin and of the client. */
  nowMs = 0
  /** How long the store's clock has stood still. Heads have the store's time; events have the server's own. */
  storeBehindMs = 0
  lifetimeS = 60
  readonly windowMs: number = 100_000
  readonly operations: FakeOperations = new FakeOperations()
  #sketch: Sketch
  #bucketVersions = new Map<string, number>()
  /** The indexes of each bucket, each on one field. */
  readonly #indexes = new Map<string, readonly string[]>()
  readonly #tagVersions = new Map<string, number>()
  #tags = new Set<string>()
  /** Answers instead of the origin, or fails the request, before anything is done. */
  script: (sent: Sent) => Scripted = () => undefined
  /** Changes or replaces an answer on its way back. */
  onWayBack: (sent: Sent, response: Response) => Scripted = () => undefined

  constructor() {
    this.#sketch = this.#createSketch()
  }

  readonly fetch: Fetch = async (url, init) => {
    const sent = toSent(url, init)
    this.sent.push(sent)
    const scripted = await this.script(sent)
    const response = scripted ?? this.answer(sent)
    if (response instanceof Error) throw response
    const arrived = (await this.onWayBack(sent, response)) ?? response
    init.signal?.throwIfAborted()
    if (arrived instanceof Error) throw arrived
    return arrived
  }

  readonly clock = (): number => {
    this.nowMs += 0.0001
    return this.nowMs
  }

  /** How many requests had a target that begins like this. */
  count(start: string): number {
    return this.sent.filter(({ target }) => target.startsWith(start)).length
  }

  /** A write by another client. */
  put(key: string, value: unknown): number {
    this.position++
    this.#tag(key, value)
    this.objects.set(pathOfKey(key), { version: this.position, text: JSON.stringify(value) })
    this.#append(key)
    return this.position
  }

  remove(key: string): number {
    this.position++
    this.#tag(key, undefined)
    this.objects.delete(pathOfKey(key))
    this.#append(key)
    return this.position
  }

  /** Another client changes the settings of a bucket: from now on, these are its indexes. */
  configure(bucket: string, ...fields: string[]): number {
    this.position++
    this.#indexes.set(bucket, fields)
    this.#append(bucket)
    return this.position
  }

  /** Another store takes the place of this one: empty, with another log. */
  replace(): void {
    this.log = 'log-2'
    this.position = 0
    this.objects.clear()
    this.#sketch = this.#createSketch()
  }

  answer(sent: Sent): Response {
    try {
      return this.#route(sent)
    } catch (error) {
      if (!(error instanceof FreshetError)) throw error
      return this.#problem(error)
    }
  }

  #route(sent: Sent): Response {
    const { pathname, searchParams } = new URL(BASE + sent.target)
    const at = Number(searchParams.get('at') ?? 0)
    if (at > this.position) throw new FreshetError('POSITION_NOT_REACHED', `Not yet at ${at}.`)
    this.#sketch.advance(this.nowMs, this.windowMs)
    if (pathname === '/coherence') return this.#head(searchParams.get('after'), searchParams.get('nonce'))
    if (pathname.startsWith('/coherence/segments/'))
      return this.#segments(pathname.slice('/coherence/segments/'.length))
    if (pathname === '/commit') return this.#once(sent, () => this.#commit(sent))
    if (!pathname.startsWith('/db/')) throw new FreshetError('ROUTE_UNKNOWN', pathname)
    const key = keyOfPath(pathname)
    if (bucketOfKey(key) === key) {
      return sent.method === 'POST' ? this.#additions(sent, key) : this.#bucket(key, searchParams)
    }
    return sent.method === 'GET' ? this.#get(pathname) : this.#once(sent, () => this.#write(sent, key))
  }

  #head(given: string | null, nonce: string | null): Response {
    const after = given === null ? undefined : Number(given)
    const head = { log: this.log, timeMs: Math.floor(this.nowMs - this.storeBehindMs), ...this.#sketch.head(after) }
    const news = formatNews(head, after, nonce ?? '')
    return json(news === undefined ? { ...head, nonce } : { news }, {})
  }

  /** The event that the server would push for the changes after a position. */
  changesAfter(from: number): ChangesEvent {
    const changes = this.#sketch.changesAfter(from)!
    const askedMs = Math.floor(this.nowMs / EVENT_TIME_MS) * EVENT_TIME_MS
    return { from, to: this.#sketch.position, askedMs, changes }
  }

  #segments(text: string): Response {
    const filters = parseSegmentRefs(text)?.map(ref => this.#sketch.segment(ref)) ?? []
    if (filters.includes(undefined)) throw new FreshetError('SEGMENT_GONE', text)
    return new Response(new Uint8Array(encodeSegmentBundle(filters as Uint8Array[])))
  }

  #get(path: string): Response {
    const found = this.objects.get(path)
    if (!found) throw new FreshetError('OBJECT_NOT_FOUND', path, { details: { position: this.position } })
    return new Response(found.text, { headers: this.#headers(found.version) })
  }

  /** The objects with a given value in one field, `{"category":"tea"}`, or all. */
  #query(key: string, where: string): Response {
    const path = `${pathOfKey(key)}/`
    const [[field, wanted] = []] = Object.entries(JSON.parse(where) as Record<string, unknown>)
    const items = [...this.objects].flatMap(([name, { version, text }]) => {
      const value = JSON.parse(text) as Record<string, unknown>
      const isFound = name.startsWith(path) && (field === undefined || value[field] === wanted)
      return isFound ? [{ id: name.slice(path.length), version, value }] : []
    })
    const isIndexed = field !== undefined && this.#indexes.get(key)?.includes(field)
    const tag = `${key}?${field}=[${JSON.stringify(wanted)}]`
    const version = (isIndexed ? this.#tagVersions.get(tag) : this.#bucketVersions.get(key)) ?? 0
    return json({ items, version, ...(isIndexed ? { dependsOn: [tag] } : {}) }, this.#headers(version))
  }

  #bucket(key: string, query: URLSearchParams): Response {
    const where = query.get('where')
    if (where !== null) return this.#query(key, where)
    const path = pathOfKey(key)
    const ids = query.get('ids')?.split(',')
    const names =
      ids ??
      [...this.objects.keys()]
        .filter(name => name.startsWith(`${path}/`))
        .map(name => name.slice(path.length + 1))
        .sort()
    const rest = names.filter(id => id > (query.get('after') ?? '') && id.startsWith(query.get('prefix') ?? ''))
    const limit = Number(query.get('limit') ?? 100)
    const items = (ids ?? rest.slice(0, limit)).map(id => {
      const { version, text } = this.objects.get(`${path}/${id}`) ?? { version: 0, text: undefined }
      return { id, version, ...(query.has('embed') && text !== undefined ? { value: JSON.parse(text) } : {}) }
    })
    const page = rest.length > limit && !ids ? { items, next: items.at(-1)?.id } : { items }
    return json(page, this.#headers(ids ? undefined : (this.#bucketVersions.get(key) ?? 0)))
  }

  /** Repeats the first answer if the request has an id that was used before. */
  #once({ method, target, headers, body }: Sent, act: () => unknown): Response {
    const key = headers.get('idempotency-key')
    if (key === null) return json(act(), {})
    const conditions = [headers.get('if-match'), headers.get('if-none-match'), headers.get('content-type')]
    const fingerprint = [method, target, ...conditions, body].join('\n')
    const { answer, isReplayed } = this.operations.once(key, fingerprint, this.nowMs, act)
    return json(answer, isReplayed ? { 'idempotency-replayed': 'true' } : {})
  }

  #write({ method, headers, body, target }: Sent, key: string): unknown {
    const version = this.objects.get(target)?.version ?? 0
    const match = headers.get('if-match')
    const isRefused = (match !== null && match !== `"${version}"`) || (headers.has('if-none-match') && version !== 0)
    if (isRefused)
      throw new FreshetError('VERSION_CONFLICT', 'Another version.', { details: { path: target, version } })
    const id = key.split('/')[2]
    if (method === 'POST') return { id, ...this.#add(key, (JSON.parse(body) as { add: number }).add) }
    const position = method === 'DELETE' ? this.remove(key) : this.put(key, JSON.parse(body))
    return { id, version: position, position }
  }

  #add(key: string, by: number): { value: number; version: number; position: number } {
    const value = this.valueOf(key) + by
    if (value < 0) throw new FreshetError('COUNTER_OUT_OF_BOUNDS', key, { details: { min: 0 } })
    const position = this.put(key, value)
    return { value, version: position, position }
  }

  /** The value of a counter. */
  valueOf(key: string): number {
    return Number(this.objects.get(pathOfKey(key))?.text ?? 0)
  }

  /** Does several additions, each as an operation of its own. */
  #additions({ body }: Sent, bucket: string): Response {
    const { additions } = JSON.parse(body) as { additions: readonly { id: string; add: number; key: string }[] }
    const results = additions.map(({ id, add, key }) => {
      try {
        const { answer } = this.operations.once(key, `${id} ${add}`, this.nowMs, () =>
          this.#add(`${bucket}/${id}`, add),
        )
        return { id, ...(answer as object) }
      } catch (error) {
        if (!(error instanceof FreshetError)) throw error
        return { id, error: toProblem(error) }
      }
    })
    return json({ position: this.position, results }, {})
  }

  #commit({ body }: Sent): unknown {
    const { reads = [], writes } = JSON.parse(body) as CommitRequest
    const conflicts = reads
      .map(({ path, version }) => ({ path, version, found: this.objects.get(path)?.version ?? 0 }))
      .filter(({ version, found }) => version !== found)
      .map(({ path, found }) => ({ path, version: found }))
    if (conflicts.length > 0) throw new FreshetError('COMMIT_CONFLICT', 'Changed.', { details: { conflicts } })
    const values: number[] = []
    for (const write of writes) {
      const key = keyOfPath(write.path)
      if ('add' in write) values.push(this.#add(key, write.add).value)
      else if ('delete' in write) this.remove(key)
      else if ('patch' in write)
        this.put(key, mergePatch(JSON.parse(this.objects.get(write.path)!.text), { ...(write.patch as object) }))
      else this.put(key, 'value' in write ? write.value : write.base64)
    }
    return { position: this.position, ...(values.length > 0 ? { values } : {}) }
  }

  #headers(version: number | undefined): Record<string, string> {
    return {
      'content-type': 'application/json',
      'cache-control': `public, max-age=${this.lifetimeS}`,
      'freshet-position': `${this.position}`,
      ...(version === undefined ? {} : { etag: formatEtag(version) }),
    }
  }

  #problem(error: FreshetError): Response {
    const problem = toProblem(error)
    const { position } = error.details
    return new Response(JSON.stringify(problem), {
      status: problem.status,
      headers: {
        'content-type': 'application/problem+json',
        ...(position === undefined ? {} : { 'freshet-position': `${position}` }),
      },
    })
  }

  /** Adds the tags of the old and the new value, for each index. */
  #tag(key: string, after: unknown): void {
    const bucket = bucketOfKey(key)
    const before = this.objects.get(pathOfKey(key))
    for (const field of this.#indexes.get(bucket) ?? []) {
      for (const value of [before && JSON.parse(before.text), after] as (Record<string, unknown> | undefined)[]) {
        if (value !== undefined) this.#tags.add(`${bucket}?${field}=[${JSON.stringify(value[field])}]`)
      }
    }
  }

  #append(key: string): void {
    const tags = [...this.#tags]
    this.#tags = new Set()
    for (const tag of tags) this.#tagVersions.set(tag, this.position)
    this.#bucketVersions.set(bucketOfKey(key), this.position)
    this.#sketch.append([{ position: this.position, timeMs: this.nowMs, keys: [key], tags }])
  }

  #createSketch(): Sketch {
    return createSketch({ seed: this.log === 'log-1' ? 1n : 2n, from: 0, windowMs: this.windowMs })
  }
}

function toSent(url: string, { method = 'GET', headers, cache, body }: RequestInit): Sent {
  if (!url.startsWith(BASE)) throw new TypeError(`${url} is another server.`)
  const text = body instanceof Uint8Array ? new TextDecoder().decode(body) : String(body ?? '')
  return { method, target: url.slice(BASE.length), headers: new Headers(headers), cache, body: text }
}

function json(value: unknown, headers: Record<string, string>): Response {
  return new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json', ...headers } })
}

/** The error of Node's fetch when no server listens. */
export function connectionRefused(): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  })
}

/** The error of a fetch when the connection breaks; it is unknown what had been done by then. */
export function connectionLost(): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
}
