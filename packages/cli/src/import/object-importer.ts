/**
 * Puts objects into a server, many at a time. Each is compared with the present object, and written only if it differs, on
 * condition that the object has not changed since. So a repeated import changes nothing, and a lost answer does no harm: the
 * repeat finds the write done. If a commit is refused for its content, it is halved until the lines at fault are found.
 */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type BucketSettings, FreshetError, type Key, pathOfKey } from '@freshet/protocol'
import { parseJsonTree } from '@freshet/server/configuration'
import { JSON_TYPE, type ObjectLine } from '../transfer/object-lines.js'
import type { ServerCalls } from '../transfer/server-calls.js'

export interface PlacedObject {
  readonly line: number
  readonly object: ObjectLine
}

export interface ImportTally {
  created: number
  replaced: number
  unchanged: number
  /** Existing objects, left alone with `--existing keep`. */
  kept: number
}

export interface ImporterOptions {
  readonly calls: ServerCalls
  readonly existing: 'replace' | 'keep'
  readonly isDryRun: boolean
  readonly onRefused: (line: number, error: FreshetError) => void
}

interface Present {
  readonly version: number
  readonly body?: string
}

const BATCH = 200
const BATCH_BYTES = 1024 * 1024
const URL_BYTES = 6000
const CONFLICTS_MAX = 50

export class ObjectImporter {
  readonly tally: ImportTally = { created: 0, replaced: 0, unchanged: 0, kept: 0 }
  readonly #options: ImporterOptions
  readonly #kinds = new Map<Key, BucketSettings['kind'] | undefined>()
  #position = 0
  #batch = new Map<Key, PlacedObject>()
  #bytes = 0

  constructor(options: ImporterOptions) {
    this.#options = options
  }

  /** Present objects are read as of now, whatever caches are on the way. */
  async begin(): Promise<void> {
    const { position } = await this.#options.calls.json<{ position: number }>(`/coherence?nonce=${Date.now()}`)
    this.#position = position
  }

  async add(placed: PlacedObject): Promise<void> {
    const key = keyOf(placed)
    if (this.#batch.has(key)) await this.flush()
    this.#batch.set(key, placed)
    this.#bytes += placed.object.body.length
    if (this.#batch.size >= BATCH || this.#bytes >= BATCH_BYTES) await this.flush()
  }

  async flush(): Promise<void> {
    const objects = [...this.#batch.values()]
    this.#batch = new Map()
    this.#bytes = 0
    await this.#put(objects)
  }

  /** Undefined if there is no such bucket. */
  async kindOf(bucket: Key): Promise<BucketSettings['kind'] | undefined> {
    if (!this.#kinds.has(bucket)) {
      this.#kinds.set(bucket, (await this.#settingsOf(bucket))?.kind)
    }
    return this.#kinds.get(bucket)
  }

  /** Creates the bucket. An existing bucket is left unchanged. */
  async createBucket(bucket: Key, settings: string): Promise<'created' | 'same' | 'different'> {
    await this.flush()
    const there = await this.#settingsOf(bucket)
    const given = JSON.parse(settings) as BucketSettings
    if (there !== undefined) return isDeepStrictEqual(there, given) ? 'same' : 'different'
    const { kind } = given
    if (!this.#options.isDryRun) {
      await this.#options.calls.call(`/db/${bucket}`, {
        method: 'PUT',
        body: settings,
        headers: { 'if-none-match': '*' },
      })
      this.#kinds.set(bucket, kind)
    }
    return 'created'
  }

  /** The settings in the form that an export has. */
  async #settingsOf(bucket: Key): Promise<BucketSettings | undefined> {
    const found = await this.#unlessMissing(this.#options.calls.json<BucketSettings>(`/db/${bucket}?settings`))
    if (found === undefined) return undefined
    const { schemaVersion: _, indexes, ...rest } = found
    return indexes === undefined ? rest : { ...rest, indexes: indexes.map(({ name, fields }) => ({ name, fields })) }
  }

  async #put(objects: readonly PlacedObject[]): Promise<void> {
    for (let conflicts = 0; ; conflicts++) {
      const present = await this.#present(objects)
      const { toWrite, tally } = this.#sort(objects, present)
      if (toWrite.length === 0 || this.#options.isDryRun) return this.#count(tally)
      try {
        await this.#commit(toWrite, present)
        return this.#count(tally)
      } catch (error) {
        if (!(error instanceof FreshetError)) throw error
        const isConflict = error.code === 'COMMIT_CONFLICT' && conflicts < CONFLICTS_MAX
        if (isConflict) continue
        if (!isAboutContent(error)) throw error
      }
      return this.#halve(objects, toWrite[0]!)
    }
  }

  async #halve(objects: readonly PlacedObject[], first: PlacedObject): Promise<void> {
    if (objects.length > 1) {
      const middle = objects.length >> 1
      await this.#put(objects.slice(0, middle))
      return this.#put(objects.slice(middle))
    }
    const present = await this.#present(objects)
    try {
      await this.#commit([first], present)
      this.#count(this.#sort(objects, present).tally)
    } catch (error) {
      if (!(error instanceof FreshetError) || !isAboutContent(error)) throw error
      this.#options.onRefused(first.line, error)
    }
  }

  #sort(objects: readonly PlacedObject[], present: ReadonlyMap<Key, Present>) {
    const tally: ImportTally = { created: 0, replaced: 0, unchanged: 0, kept: 0 }
    const toWrite = objects.filter(placed => {
      const there = present.get(keyOf(placed))
      if (there === undefined || there.version === 0) tally.created++
      else if (there.body === contentText(placed.object)) tally.unchanged++
      else if (this.#options.existing === 'keep') tally.kept++
      else tally.replaced++
      const isNew = there === undefined || there.version === 0
      return isNew || (there.body !== contentText(placed.object) && this.#options.existing === 'replace')
    })
    return { toWrite, tally }
  }

  #count(tally: ImportTally): void {
    for (const name of Object.keys(tally) as (keyof ImportTally)[]) this.tally[name] += tally[name]
  }

  async #commit(objects: readonly PlacedObject[], present: ReadonlyMap<Key, Present>): Promise<void> {
    const reads = objects.map(placed => ({
      path: pathOfKey(keyOf(placed)),
      version: present.get(keyOf(placed))?.version ?? 0,
    }))
    const writes = objects.map(({ object }) => {
      return `{"path":${JSON.stringify(pathOfKey(`${object.bucket}/${object.id}`))},${contentText(object)}}`
    })
    const body = `{"reads":${JSON.stringify(reads)},"writes":[${writes.join()}]}`
    const headers = { 'idempotency-key': randomUUID() }
    const { position } = await this.#options.calls.json<{ position: number }>('/commit', {
      method: 'POST',
      body,
      headers,
    })
    this.#position = Math.max(this.#position, position)
    for (const { object } of objects)
      if (this.#kinds.get(object.bucket) === undefined) this.#kinds.delete(object.bucket)
  }

  async #present(objects: readonly PlacedObject[]): Promise<ReadonlyMap<Key, Present>> {
    const found = new Map<Key, Present>()
    for (const bucket of new Set(objects.map(({ object }) => object.bucket))) {
      const kind = await this.kindOf(bucket)
      if (kind === undefined) continue
      const ids = objects.filter(({ object }) => object.bucket === bucket).map(({ object }) => object.id)
      for (const part of partsOf(ids)) await this.#readPart(bucket, kind === 'kv', part, found)
    }
    return found
  }

  async #readPart(bucket: Key, areBytes: boolean, part: string, found: Map<Key, Present>): Promise<void> {
    const { text } = await this.#options.calls.call(`/db/${bucket}?at=${this.#position}&embed&ids=${part}`)
    for (const { members } of parseJsonTree(text, 3).members!.get('items')!.elements!) {
      const id = JSON.parse(members!.get('id')!.text) as string
      const version = Number(members!.get('version')!.text)
      const value = members!.get('value')?.text
      const body = value === undefined ? {} : { body: areBytes ? bytesText(value) : `"value":${value}` }
      found.set(`${bucket}/${id}`, { version, ...body })
    }
  }

  async #unlessMissing<Answer>(call: Promise<Answer>): Promise<Answer | undefined> {
    try {
      return await call
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'BUCKET_NOT_FOUND') return undefined
      throw error
    }
  }
}

function keyOf({ object: { bucket, id } }: PlacedObject): Key {
  return `${bucket}/${id}`
}

/** The content as a member of a commit, which is also the form for comparison. */
function contentText({ contentType, body }: ObjectLine): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
  if (contentType === JSON_TYPE) return `"value":${bytes.toString()}`
  return `"contentType":${JSON.stringify(contentType)},"base64":${JSON.stringify(bytes.toString('base64'))}`
}

function bytesText(value: string): string {
  const { contentType, base64 } = JSON.parse(value) as { contentType: string; base64: string }
  if (contentType === JSON_TYPE) return `"value":${Buffer.from(base64, 'base64').toString()}`
  return `"contentType":${JSON.stringify(contentType)},"base64":${JSON.stringify(base64)}`
}

/** Groups ids into lists that fit into a URL. */
function partsOf(ids: readonly string[]): string[] {
  const parts: string[] = []
  for (const id of ids) {
    const encoded = encodeURIComponent(id).replaceAll("'", '%27')
    const last = parts.at(-1)
    if (last === undefined || last.length + encoded.length > URL_BYTES) parts.push(encoded)
    else parts[parts.length - 1] = `${last},${encoded}`
  }
  return parts
}

/** Not if the caller lacks permission, or the server is in trouble. */
function isAboutContent({ code, details: { status } }: FreshetError): boolean {
  if (code === 'COMMIT_CONFLICT') return false
  return typeof status === 'number' && status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status)
}
