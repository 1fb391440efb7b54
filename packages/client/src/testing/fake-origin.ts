/**
 * A server in miniature, behind a `fetch` of its own: the platform's seam, so that every decision of the client can be
 * provoked. Its sketch is the real one; its caches are whatever a test puts between.
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
  FreshetError,
  formatEtag,
  keyOfPath,
  pathOfKey,
  toProblem,
} from '@freshet/protocol'
import type { Fetch } from '../http/transport.js'

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
  /** Its clock, and the client's. */
  nowMs = 0
  lifetimeS = 60
  readonly windowMs: number = 100_000
  #sketch: Sketch
  #bucketVersions = new Map<string, number>()
  /** Each of one field. */
  readonly #indexes = new Map<string, readonly string[]>()
  readonly #tagVersions = new Map<string, number>()
  #tags = new Set<string>()
  /** Answers instead of the origin, or fails the request, before anything is done. */
  script: (sent: Sent) => Scripted = () => undefined
  /** What happens to an answer on its way back. */
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

  /** How often something was asked for whose target begins like this. */
  count(start: string): number {
    return this.sent.filter(({ target }) => target.startsWith(start)).length
  }

  /** A write by somebody else. */
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

  /** Somebody changes the settings of a bucket: its indexes are these from now on. */
  configure(bucket: string, ...fields: string[]): number {
    this.position++
    this.#indexes.set(bucket, fields)
    this.#append(bucket)
    return this.position
  }

  /** Another store takes its place: empty, with another log. */
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
    if (pathname === '/coherence') return this.#head(searchParams.get('after'))
    if (pathname.startsWith('/coherence/segments/'))
      return this.#segments(pathname.slice('/coherence/segments/'.length))
    if (!pathname.startsWith('/db/')) throw new FreshetError('ROUTE_UNKNOWN', pathname)
    const key = keyOfPath(pathname)
    if (bucketOfKey(key) === key) return this.#bucket(key, searchParams)
    return sent.method === 'GET' ? this.#get(pathname) : this.#write(sent, key)
  }

  #head(given: string | null): Response {
    const after = given === null ? undefined : Number(given)
    const head = { log: this.log, timeMs: Math.floor(this.nowMs), ...this.#sketch.head(after) }
    const news = formatNews(head, after)
    return json(news === undefined ? head : { news }, {})
  }

  /** What the server would push of the changes after a position. */
  changesAfter(from: number): ChangesEvent {
    const changes = this.#sketch.changesAfter(from)!
    const timeMs = Math.floor(this.nowMs / EVENT_TIME_MS) * EVENT_TIME_MS
    return { from, to: this.#sketch.position, timeMs, changes }
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

  /** The objects that are equal in one field: `{"category":"tea"}`; or all. */
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

  #write({ method, headers, body, target }: Sent, key: string): Response {
    const version = this.objects.get(target)?.version ?? 0
    const match = headers.get('if-match')
    const isRefused = (match !== null && match !== `"${version}"`) || (headers.has('if-none-match') && version !== 0)
    if (isRefused)
      throw new FreshetError('VERSION_CONFLICT', 'Another version.', { details: { path: target, version } })
    const position = method === 'DELETE' ? this.remove(key) : this.put(key, JSON.parse(body))
    return json({ id: key.split('/')[2], version: position, position }, {})
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

  /** What it was and what it will be, by each index. */
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
  return { method, target: url.slice(BASE.length), headers: new Headers(headers), cache, body: String(body ?? '') }
}

function json(value: unknown, headers: Record<string, string>): Response {
  return new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json', ...headers } })
}

/** As Node's fetch fails when nobody listens. */
export function connectionRefused(): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  })
}

/** As a fetch fails when the connection breaks; nobody knows what had been done by then. */
export function connectionLost(): TypeError {
  return new TypeError('fetch failed', {
    cause: Object.assign(new Error('other side closed'), { code: 'UND_ERR_SOCKET' }),
  })
}
