/**
 * The objects that the doctor requests, in buckets of its own. Each has a number that grows with every write, so that the
 * body of an answer shows which state it was read from.
 *
 * Writes use `POST /commit`, even if they can only go through the caches: a commit does not show a cache which object has
 * changed, as a PUT would. Ids are new in each run, so no cache has copies from an earlier run.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import {
  type BucketSettings,
  type CommitAnswer,
  type CommitWrite,
  FreshetError,
  POSITION_HEADER,
  type Position,
  parsePosition,
} from '@freshet/protocol'
import { type Endpoint, headerOf, type ProbeAnswer, type ProbeRequest } from './http-probe.js'

export interface ProbeObject {
  readonly path: string
  /** Its present number. */
  number: number
  /** The position of its last write. */
  position: Position
  readonly padding: string
}

/** The answer to a read of an object. */
export interface Reading extends ProbeAnswer {
  /** Undefined if the answer is not one of these objects. */
  readonly number: number | undefined
  /** The position in the header; undefined if the header got lost. */
  readonly position: Position | undefined
}

export interface ReadOptions extends Pick<ProbeRequest, 'method' | 'headers' | 'isFromElsewhere'> {
  readonly at?: Position
}

type HowAsked = Pick<ProbeRequest, 'outlivesStop'>

/** The lifetime of the first bucket's objects: long enough for every probe. */
export const LIFETIME_S = 20
/** The lifetime of the second bucket's objects: short, to see what happens when it ends. */
export const BRIEF_LIFETIME_S = 1

/**
 * Each run has its own buckets in this namespace. The name tells when the run began: `lx3k9c2a-0f1e2d3c4b5a`, the milliseconds in
 * base 36.
 */
const NAMESPACE = 'freshet-doctor'
const OWN_NAME = /^([0-9a-z]{8,9})-[0-9a-f]{12}(?:-brief)?$/
/** A run that began longer ago has ended or was killed. */
const LEFT_AFTER_MS = 3_600_000

const JSON_TYPE = { 'Content-Type': 'application/json' }
const ID_PREFIX = 'probe-'
const FILLS_MAX = 3
/** A bucket without objects is deleted at once, but other tasks may come first. */
const REMOVED_WITHIN_MS = 10_000
const REMOVED_LOOK_MS = 20
const REMOVING: HowAsked = { outlivesStop: true }

export class ProbeObjects {
  readonly #through: Endpoint
  readonly #writer: Endpoint
  readonly #bucket: string
  readonly #hasOwnName: boolean
  readonly #own: Readonly<Record<string, string>>
  readonly #run = randomBytes(6).toString('hex')
  readonly #paths = new Set<string>()
  /** The paths of buckets that did not exist before. */
  readonly #made = new Set<string>()

  /** `writer` is the server itself, if it can be reached. The token is sent with writes, and not with the probes' reads. */
  constructor({
    through,
    writer,
    bucket,
    token,
  }: { through: Endpoint; writer: Endpoint; bucket: string | undefined; token?: string | undefined }) {
    this.#own = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    this.#through = through
    this.#writer = writer
    this.#hasOwnName = bucket === undefined
    this.#bucket = bucket ?? `${NAMESPACE}/${Date.now().toString(36)}-${this.#run}`
  }

  get bucketPath(): string {
    return `/db/${this.#bucket}`
  }

  /** Throws CONFIG_INVALID if a bucket is in use for something else, or the server's refusal. */
  async prepare(): Promise<void> {
    if (this.#hasOwnName) await this.#removeLeft()
    await this.#prepare(this.bucketPath, LIFETIME_S)
    await this.#prepare(`${this.bucketPath}-brief`, BRIEF_LIFETIME_S)
    for (const suffix of ['', '-brief']) await this.#checkOpen(this.name('none', suffix))
  }

  /** No cache stores what only some readers may see, so there would be nothing to examine. */
  async #checkOpen(path: string): Promise<void> {
    const { status } = await this.#writer.send({ target: path })
    if (status === 401 || status === 403)
      throw closed(path, this.#hasOwnName ? [`${NAMESPACE}/*`] : [this.#bucket, `${this.#bucket}-brief`])
  }

  async #prepare(path: string, lifetimeS: number): Promise<void> {
    const settings: BucketSettings = { kind: 'object', lifetimeMs: lifetimeS * 1000 }
    const found = await this.#writer.send({ target: `${path}?settings`, headers: this.#own })
    if (found.status === 200) await this.#checkOwn(path)
    if (found.status === 404) this.#made.add(path)
    if (found.status === 200) {
      const known = jsonOf<BucketSettings>(found)
      if (known?.kind === settings.kind && known.lifetimeMs === settings.lifetimeMs && !known.requireMatch) return
    }
    const body = JSON.stringify(settings)
    const headers = { ...JSON_TYPE, ...this.#own }
    expectSuccess(await this.#writer.send({ method: 'PUT', target: path, headers, body }), `PUT ${path}`)
  }

  /** Removes buckets left by doctors that were killed. A failure does not matter to this run. */
  async #removeLeft(): Promise<void> {
    const found = await this.#writer.send({ target: `/db/${NAMESPACE}`, headers: this.#own })
    const names = jsonOf<{ buckets?: readonly { bucket: string }[] }>(found)?.buckets?.map(({ bucket }) => bucket) ?? []
    const left = names.filter(name => {
      const beganMs = Number.parseInt(OWN_NAME.exec(name)?.[1] ?? '', 36)
      return beganMs < Date.now() - LEFT_AFTER_MS
    })
    await this.#removeAll(left.map(name => `/db/${NAMESPACE}/${name}`))
  }

  async #itemsOf(path: string, how: HowAsked = {}): Promise<readonly { readonly id: string }[]> {
    // With the position, no cache has a copy of this URL.
    const target = `${path}?at=${await this.position(how)}`
    const list = await this.#writer.send({ target, headers: this.#own, ...how })
    return jsonOf<{ items?: readonly { id: string }[] }>(list)?.items ?? []
  }

  async #checkOwn(path: string): Promise<void> {
    const items = await this.#itemsOf(path)
    if (items.every(({ id }) => id.startsWith(ID_PREFIX))) return
    const bucket = path.slice('/db/'.length)
    throw new FreshetError(
      'CONFIG_INVALID',
      `The bucket ${bucket} holds objects that are not the doctor's, and the doctor would change their lifetime. ` +
        'Name an unused bucket with --bucket.',
    )
  }

  /** The present position of the log. */
  async position(how: HowAsked = {}): Promise<Position> {
    const nonce = randomBytes(12).toString('hex')
    const sent = await this.#writer.send({ target: `/coherence?nonce=${nonce}`, ...how })
    const answer = expectSuccess(sent, 'GET /coherence')
    return (jsonOf<{ position: Position }>(answer) ?? { position: 0 }).position
  }

  /** The path of an object that does not exist yet. */
  name(name: string, suffix = ''): string {
    return `${this.bucketPath}${suffix}/${ID_PREFIX}${this.#run}-${name}`
  }

  async create(name: string, options: { isBrief?: boolean; sizeBytes?: number } = {}): Promise<ProbeObject> {
    const path = this.name(name, options.isBrief ? '-brief' : '')
    const object = { path, number: 0, position: 0, padding: 'x'.repeat(options.sizeBytes ?? 0) }
    await this.write(object)
    return object
  }

  async write(object: ProbeObject): Promise<void> {
    const number = object.number + 1
    const { padding, path } = object
    object.position = await this.#commit([{ path, value: { number, ...(padding === '' ? {} : { padding }) } }])
    object.number = number
  }

  /** Writes by PUT through the caches, so that they see which object is written. */
  async put(object: ProbeObject, headers: Readonly<Record<string, string>> = {}): Promise<ProbeAnswer> {
    const body = JSON.stringify({ number: object.number + 1 })
    this.#paths.add(object.path)
    const options = {
      method: 'PUT',
      target: object.path,
      headers: { ...JSON_TYPE, ...this.#own, ...headers },
      body,
      outlivesStop: true,
    }
    const answer = await this.#through.send(options)
    if (answer.status === 200 || answer.status === 201) object.number++
    return answer
  }

  async read(object: Pick<ProbeObject, 'path'>, { at, ...options }: ReadOptions = {}): Promise<Reading> {
    const target = at === undefined ? object.path : `${object.path}?at=${at}`
    return toReading(await this.#through.send({ target, ...options }))
  }

  /**
   * Creates an object of which the caches hold an outdated copy; undefined if they store none. Some caches store only what was
   * requested more than once.
   */
  async createOutdated(
    name: string,
    options: ReadOptions & { sizeBytes?: number } = {},
  ): Promise<ProbeObject | undefined> {
    const { sizeBytes = 0, ...readOptions } = options
    const object = await this.create(name, { sizeBytes })
    for (let i = 0; i < FILLS_MAX; i++) {
      await this.read(object, readOptions)
      await this.write(object)
      if (isOutdated(object, await this.read(object, readOptions))) return object
    }
    return undefined
  }

  /** Moves the log on, to `position` at least. */
  async advanceTo(position: Position): Promise<void> {
    const object = { path: this.name('advance'), number: 0, position: 0, padding: '' }
    while (object.position < position) await this.write(object)
  }

  /**
   * Call this once no probe is running. It also removes the buckets that it created, unless another doctor has objects in them.
   * Returns how many objects and buckets could not be removed.
   */
  async remove(): Promise<number> {
    const objects = await this.#removeAll(this.#paths)
    return objects > 0 ? objects : this.#removeBuckets().catch(() => this.#made.size)
  }

  async #removeAll(paths: Iterable<string>): Promise<number> {
    const removed = [...paths].map(path =>
      this.#writer.send({ method: 'DELETE', target: path, headers: this.#own, outlivesStop: true }),
    )
    const settled = await Promise.allSettled(removed)
    // 202: a task removes it. 404: it was never written.
    return settled.filter(each => each.status === 'rejected' || ![200, 202, 404].includes(each.value.status)).length
  }

  /** Resolves when the buckets are gone: the next doctor creates them again. */
  async #removeBuckets(): Promise<number> {
    const paths: string[] = []
    for (const path of this.#made) if ((await this.#itemsOf(path, REMOVING)).length === 0) paths.push(path)
    const left = await this.#removeAll(paths)
    const deadlineMs = performance.now() + REMOVED_WITHIN_MS
    for (let isGone = left > 0; !isGone && performance.now() < deadlineMs; await delay(REMOVED_LOOK_MS)) {
      const asked = paths.map(path => ({ target: `${path}?settings`, headers: this.#own, ...REMOVING }))
      const found = await Promise.all(asked.map(request => this.#writer.send(request)))
      isGone = found.every(({ status }) => status !== 200)
    }
    return left
  }

  async #commit(writes: readonly CommitWrite[]): Promise<Position> {
    for (const { path } of writes) this.#paths.add(path)
    const body = JSON.stringify({ writes })
    const headers = { ...JSON_TYPE, ...this.#own }
    const sent = await this.#writer.send({ method: 'POST', target: '/commit', headers, body, outlivesStop: true })
    const answer = expectSuccess(sent, 'POST /commit')
    const position = jsonOf<CommitAnswer>(answer)?.position
    if (typeof position === 'number') return position
    throw new FreshetError('ANSWER_INVALID', `POST ${this.#writer.url}/commit was not answered by a Freshet server.`)
  }
}

/** Whether an answer is older than the object. Throws ANSWER_INVALID if the answer is not about the object. */
export function isOutdated(object: ProbeObject, { number, status }: Reading): boolean {
  if (number !== undefined) return number < object.number
  throw new FreshetError(
    'ANSWER_INVALID',
    `GET ${object.path} was answered with status ${status}, and without the object.`,
  )
}

export function jsonOf<Value>(answer: Pick<ProbeAnswer, 'body' | 'headers'>): Value | undefined {
  try {
    return JSON.parse(decoded(answer).toString('utf8')) as Value
  } catch {
    // A proxy's page, or a wrong Content-Encoding: the caller reports what is missing.
    return undefined
  }
}

function decoded({ body, headers }: Pick<ProbeAnswer, 'body' | 'headers'>): Buffer {
  const coding = headers['content-encoding']
  if (coding === 'gzip') return gunzipSync(body)
  return coding === 'br' ? brotliDecompressSync(body) : body
}

/** Error answers carry the id of their request. */
export function requestIdOf(answer: ProbeAnswer): string | undefined {
  return jsonOf<{ requestId?: string }>(answer)?.requestId
}

function toReading(answer: ProbeAnswer): Reading {
  const number = answer.status === 200 ? jsonOf<{ number?: number }>(answer)?.number : undefined
  return { ...answer, number, position: parsePosition(headerOf(answer, POSITION_HEADER) ?? '') }
}

function closed(path: string, buckets: readonly string[]): FreshetError {
  const lines = buckets.map(bucket => `bucket ${bucket}`).join(', ')
  return new FreshetError(
    'FORBIDDEN',
    `The rules do not let everyone read ${path}. For the doctor, add: ${lines}, each with the line: read, list`,
  )
}

function expectSuccess(answer: ProbeAnswer, what: string): ProbeAnswer {
  if (answer.status >= 200 && answer.status < 300) return answer
  if (answer.status === 401 || answer.status === 403) {
    throw new FreshetError(
      'FORBIDDEN',
      `${what} was refused: the server has rules. Give the doctor the token of an admin, with --token or FRESHET_TOKEN.`,
    )
  }
  const said = answer.body.toString('utf8').slice(0, 200).replaceAll(/\s+/g, ' ')
  throw new FreshetError('REQUEST_FAILED', `${what} was answered with ${answer.status}: ${said}`)
}
