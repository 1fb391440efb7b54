/** `/db/{namespace}/{bucket}/{id}`, and POST to the bucket, which makes the id. */
import type { StoredValue, Write } from '@freshet/core/store'
import {
  type BucketSettings,
  FreshetError,
  formatEtag,
  type Key,
  pathOfKey,
  readPosition,
  type WriteAnswer,
} from '@freshet/protocol'
import type { Access } from '../access/access.js'
import type { CounterAdditions } from '../counters/counter-additions.js'
import { areAdditions, counterWrite, noCounter } from '../counters/counter-values.js'
import { type Answer, JSON_TYPE, jsonAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import { readConditions } from '../http/conditions.js'
import type { Exchange } from '../http/exchange.js'
import { readBody, tooLarge } from '../http/request-body.js'
import { REPLAYED } from '../idempotency/idempotency.js'
import { readOperation } from '../idempotency/read-operation.js'
import { migrated } from '../schemas/migrated.js'
import type { ServerSettings } from '../settings.js'
import { essenceOf, isJson, MERGE_PATCH_TYPE, notJson, readContentType } from './content-types.js'
import { readJsonObject } from './json-text.js'
import { mergePatch } from './merge-patch.js'
import { type ObjectName, objectNameOf } from './object-name.js'
import { OBJECT_ROUTE, type ObjectReader, READING } from './object-reader.js'
import type { Intent, ObjectWriter, Outcome } from './object-writer.js'
import { versionConflict } from './refusals.js'

export interface ObjectRoutesOptions {
  readonly settings: ServerSettings
  readonly access: Access
  readonly reader: ObjectReader
  readonly writer: ObjectWriter
  readonly additions: CounterAdditions
  readonly newId: () => string
}

const PUTTING = ['create', 'update'] as const

export class ObjectRoutes {
  readonly #options: ObjectRoutesOptions

  constructor(options: ObjectRoutesOptions) {
    this.#options = options
  }

  route(): Route {
    return {
      pattern: OBJECT_ROUTE,
      operations: {
        GET: { ...READING, handle: call => this.#get(call), parameters: ['at'] },
        PUT: { access: 'rules', rights: PUTTING, handle: call => this.#put(call), takesBody: true },
        PATCH: { access: 'rules', rights: ['update'], handle: call => this.#patch(call), takesBody: true },
        POST: {
          access: 'rules',
          rights: ['update'],
          handle: call => this.#options.additions.one(call),
          takesBody: true,
        },
        DELETE: { access: 'rules', rights: ['delete'], handle: call => this.#delete(call) },
      },
    }
  }

  /** `POST /db/{namespace}/{bucket}` */
  async post({ exchange, names }: Call): Promise<Answer> {
    const name = this.#nameOf([...names, this.#options.newId()])
    const body = await readBody(exchange, this.#options.settings.bodyBytesMax)
    const decidePut = this.#decidePut(name.bucket, exchange.request.headers['content-type'], name.key, body)
    const decide: Intent['decide'] = (...state) => {
      // Else each retry would store an object of its own.
      if (areAdditions(body)) throw noCounter(name.bucket)
      return decidePut(...state)
    }
    const conditions = { noneMatch: '*' } as const
    const intent = { ...name, rights: ['create'] as const, conditions, dependsOnCurrent: true, decide }
    return this.#write(exchange, body, intent, () => 201)
  }

  /** `note`: status and id, which is another one each time if it is made here. */
  async #write(
    { request, caller }: Exchange,
    body: Buffer | undefined,
    intent: Intent & ObjectName,
    statusOf: (existed: boolean) => 200 | 201,
  ): Promise<Answer> {
    const operation = readOperation(request, body, caller)
    const note = (existed: boolean) => `${statusOf(existed)} ${intent.id}`
    const outcome = await this.#options.writer.write({ ...intent, caller, operation, note })
    return written(intent.bucket, outcome, outcome.note ?? note(outcome.existed))
  }

  #get({ exchange, names, parameters }: Call): undefined {
    const { request, response, startedMs, caller, limitsLeft } = exchange
    const { key } = this.#nameOf(names)
    const at = parameters.has('at') ? readPosition('at', parameters.get('at')!) : 0
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
    const { rules } = this.#options.access
    const asked = { request, response, startedMs, key, at, ifMatch, ifNoneMatch }
    this.#options.reader.read({ ...asked, caller, rules, limitsLeft })
  }

  async #put({ exchange, names }: Call): Promise<Answer> {
    const name = this.#nameOf(names)
    const conditions = readConditions(exchange.request.headers)
    const body = await readBody(exchange, this.#options.settings.bodyBytesMax)
    const decide = this.#decidePut(name.bucket, exchange.request.headers['content-type'], name.key, body)
    const intent = { ...name, rights: PUTTING, conditions, dependsOnCurrent: false, decide }
    return this.#write(exchange, body, intent, existed => (existed ? 200 : 201))
  }

  #decidePut(bucket: Key, contentType: string | undefined, key: Key, body: Buffer): Intent['decide'] {
    return (settings, _current, found) => {
      if (settings.kind === 'kv') return { key, contentType: readContentType(contentType), body }
      if (settings.kind === 'counter') return counterWrite(key, body, settings)
      if (contentType !== undefined && !isJson(contentType)) throw notJson(bucket, contentType, found === undefined)
      this.#readObject(body)
      return { key, contentType: JSON_TYPE, body }
    }
  }

  async #patch({ exchange, names }: Call): Promise<Answer> {
    const name = this.#nameOf(names)
    const { headers } = exchange.request
    const conditions = readConditions(headers)
    checkPatchType(headers['content-type'])
    const body = await readBody(exchange, this.#options.settings.bodyBytesMax)
    const patch = this.#readObject(body)
    const decide: Intent['decide'] = (settings, current, bucket) =>
      this.#decidePatch(name.key, settings, current && migrated(name.key, bucket, current), patch)
    const intent = { ...name, rights: ['update'] as const, conditions, dependsOnCurrent: true, isTelling: true, decide }
    return this.#write(exchange, body, intent, () => 200)
  }

  #decidePatch(key: Key, settings: BucketSettings, current: StoredValue | undefined, patch: string): Write {
    if (settings.kind !== 'object') {
      throw new FreshetError(
        'CONTENT_TYPE_UNSUPPORTED',
        `${pathOfKey(key)} is in a ${settings.kind} bucket. Replace it with PUT.`,
      )
    }
    if (current === undefined) throw nothingThere(key)
    const { bodyBytesMax } = this.#options.settings
    const body = Buffer.from(mergePatch(new TextDecoder().decode(current.body), patch))
    if (body.length > bodyBytesMax) throw tooLarge(bodyBytesMax)
    this.#readObject(body)
    return { key, contentType: JSON_TYPE, body }
  }

  async #delete({ exchange, names }: Call): Promise<Answer> {
    const name = this.#nameOf(names)
    const conditions = readConditions(exchange.request.headers)
    const decide: Intent['decide'] = (_settings, current) => {
      if (current !== undefined) return { key: name.key, delete: true }
      // If-None-Match: * holds where there is nothing; but there is nothing to delete either.
      throw conditions.match === undefined ? nothingThere(name.key) : versionConflict(name.key, 0)
    }
    const intent = { ...name, rights: ['delete'] as const, conditions, dependsOnCurrent: true, isTelling: true, decide }
    return this.#write(exchange, undefined, intent, () => 200)
  }

  #readObject(body: Uint8Array): string {
    const { jsonDepthMax, jsonMembersMax } = this.#options.settings
    return readJsonObject(body, jsonDepthMax, jsonMembersMax)
  }

  #nameOf(names: readonly string[]): ObjectName {
    return objectNameOf(names, this.#options.settings.idBytesMax)
  }
}

/** `note`: as `#write` makes it. */
function written(bucket: Key, { position, note: isReplayed }: Outcome, note: string): Answer {
  const status = note.startsWith('201') ? 201 : 200
  const id = note.slice(4)
  const answer: WriteAnswer = { id, version: position, position }
  return jsonAnswer(status, answer, [
    ...['ETag', formatEtag(position), 'Freshet-Position', `${position}`],
    ...(status === 201 ? ['Location', pathOfKey(`${bucket}/${id}`)] : []),
    ...(isReplayed === undefined ? [] : REPLAYED),
  ])
}

function checkPatchType(contentType: string | undefined): void {
  if (contentType !== undefined && essenceOf(contentType) === MERGE_PATCH_TYPE) return
  throw new FreshetError(
    'CONTENT_TYPE_UNSUPPORTED',
    `A PATCH is a JSON merge patch (RFC 7396). Send it with the header "Content-Type: ${MERGE_PATCH_TYPE}".`,
    { details: { accept: [MERGE_PATCH_TYPE] } },
  )
}

function nothingThere(key: Key): FreshetError {
  return new FreshetError('OBJECT_NOT_FOUND', `There is no object ${pathOfKey(key)}. Create it with PUT.`)
}
