/** `/db/{namespace}/{bucket}/{id}`, and POST to the bucket, which makes the id: turns requests into reads and writes. */
import { FreshetError, readPosition } from '@freshet/protocol'
import type { Access } from '../../access/access.js'
import { type ObjectName, objectNameOf } from '../../buckets/object-name.js'
import type { Answer } from '../../http/answer.js'
import { readConditions } from '../../http/conditions.js'
import { essenceOf, MERGE_PATCH_TYPE } from '../../http/content-types.js'
import { readBody } from '../../http/request-body.js'
import { readOperation } from '../../idempotency/read-operation.js'
import type { Call, Route } from '../../routing/call.js'
import type { ServerSettings } from '../../settings/server-settings.js'
import type { CounterAdditions } from '../counters/counter-additions.js'
import { readObject, WRITE_KINDS } from './decide-write.js'
import { OBJECT_ROUTE, type ObjectReader, READING } from './object-reader.js'
import type { ObjectWrites } from './object-writes.js'

export interface ObjectRoutesOptions {
  readonly settings: ServerSettings
  readonly access: Access
  readonly reader: ObjectReader
  readonly writes: ObjectWrites
  readonly additions: CounterAdditions
  readonly newId: () => string
}

export class ObjectRoutes {
  readonly #options: ObjectRoutesOptions

  constructor(options: ObjectRoutesOptions) {
    this.#options = options
  }

  route(): Route {
    const { put, patch, delete: deletion } = WRITE_KINDS
    const add = { rights: patch.rights, handle: (call: Call) => this.#options.additions.one(call) }
    return {
      pattern: OBJECT_ROUTE,
      methods: {
        GET: { ...READING, handle: call => this.#get(call), parameters: ['at'] },
        PUT: { access: 'rules', rights: put.rights, handle: call => this.#put(call), takesBody: true },
        PATCH: { access: 'rules', rights: patch.rights, handle: call => this.#patch(call), takesBody: true },
        POST: { access: 'rules', ...add, takesBody: true },
        DELETE: { access: 'rules', rights: deletion.rights, handle: call => this.#delete(call) },
      },
    }
  }

  #get({ exchange, caller, names, parameters }: Call): undefined {
    const { request, response, startedMs, limitsLeft } = exchange
    const { key } = this.#nameOf(names)
    const at = parameters.has('at') ? readPosition('at', parameters.get('at')!) : 0
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers
    const { rules } = this.#options.access
    const asked = { request, response, startedMs, key, at, ifMatch, ifNoneMatch }
    this.#options.reader.read({ ...asked, caller, rules, limitsLeft, isPrivate: false })
  }

  async #put({ exchange, caller, names }: Call): Promise<Answer> {
    const name = this.#nameOf(names)
    const { headers } = exchange.request
    const conditions = readConditions(headers)
    const body = await readBody(exchange, this.#options.settings.bodyBytesMax, 'bodyBytesMax')
    const operation = readOperation(exchange.request, body, caller)
    const contentType = headers['content-type']
    return this.#options.writes.write({ ...name, kind: 'put', conditions, contentType, body, caller, operation })
  }

  /** `POST /db/{namespace}/{bucket}` */
  async post({ exchange, caller, names }: Call): Promise<Answer> {
    const name = this.#nameOf([...names, this.#options.newId()])
    const body = await readBody(exchange, this.#options.settings.bodyBytesMax, 'bodyBytesMax')
    const operation = readOperation(exchange.request, body, caller)
    const contentType = exchange.request.headers['content-type']
    const conditions = { noneMatch: '*' } as const
    return this.#options.writes.write({ ...name, kind: 'create', conditions, contentType, body, caller, operation })
  }

  async #patch({ exchange, caller, names }: Call): Promise<Answer> {
    const name = this.#nameOf(names)
    const { headers } = exchange.request
    const conditions = readConditions(headers)
    checkPatchType(headers['content-type'])
    const { settings, writes } = this.#options
    const body = await readBody(exchange, settings.bodyBytesMax, 'bodyBytesMax')
    const patch = readObject(body, settings)
    const operation = readOperation(exchange.request, body, caller)
    return writes.write({ ...name, kind: 'patch', conditions, patch, caller, operation })
  }

  async #delete({ exchange, caller, names }: Call): Promise<Answer> {
    const name = this.#nameOf(names)
    const conditions = readConditions(exchange.request.headers)
    const operation = readOperation(exchange.request, undefined, caller)
    return this.#options.writes.write({ ...name, kind: 'delete', conditions, caller, operation })
  }

  #nameOf(names: readonly string[]): ObjectName {
    return objectNameOf(names, this.#options.settings.idBytesMax)
  }
}

function checkPatchType(contentType: string | undefined): void {
  if (contentType !== undefined && essenceOf(contentType) === MERGE_PATCH_TYPE) return
  throw new FreshetError(
    'CONTENT_TYPE_UNSUPPORTED',
    `A PATCH is a JSON merge patch (RFC 7396). Send it with the header "Content-Type: ${MERGE_PATCH_TYPE}".`,
    { details: { accept: [MERGE_PATCH_TYPE] } },
  )
}
