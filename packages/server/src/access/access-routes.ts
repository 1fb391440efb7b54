/**
 * `GET /access`: the rules in effect; `POST /access/try`: what somebody may do by them. `GET /audit`: who changed what, the oldest first.
 * `GET /quotas`: who has how much. For admins.
 */
import type { Store } from '@freshet/core/store'
import type { BucketDirectory } from '../data/bucket-directory.js'
import { readJsonObject } from '../data/json-text.js'
import type { Answer } from '../http/answer.js'
import { jsonAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import { readBody } from '../http/request-body.js'
import type { ServerSettings } from '../settings.js'
import type { Access } from './access.js'
import { recallRules } from './access-record.js'
import { readAudit } from './audit.js'
import { namespaceOf } from './quotas/usage-record.js'
import { tryAccess } from './try-access.js'

const LIMIT_DEFAULT = 100

export interface AccessRoutesOptions {
  readonly store: Store
  readonly access: Access
  readonly buckets: BucketDirectory
  readonly settings: ServerSettings
}

export class AccessRoutes {
  readonly #options: AccessRoutesOptions

  constructor(options: AccessRoutesOptions) {
    this.#options = options
  }

  routes(): readonly Route[] {
    return [
      { pattern: '/access', operations: { GET: { access: 'admin', handle: () => this.#rules() } } },
      { pattern: '/quotas', operations: { GET: { access: 'admin', handle: () => this.#quotas() } } },
      {
        pattern: '/access/try',
        operations: { POST: { access: 'admin', handle: call => this.#try(call), takesBody: true } },
      },
      {
        pattern: '/audit',
        operations: { GET: { access: 'admin', handle: call => this.#audit(call), parameters: ['after', 'limit'] } },
      },
    ]
  }

  async #rules(): Promise<Answer> {
    return jsonAnswer(200, { rules: (await recallRules(this.#options.store)).text })
  }

  async #quotas(): Promise<Answer> {
    const { access, buckets } = this.#options
    return jsonAnswer(200, { namespaces: await access.quotas.usage(access.rules, buckets.keys().map(namespaceOf)) })
  }

  async #try({ exchange }: Call): Promise<Answer> {
    const { store, access, settings } = this.#options
    const body = readJsonObject(await readBody(exchange, settings.bodyBytesMax), settings.jsonDepthMax)
    return jsonAnswer(200, await tryAccess(store, body, access.isOn ? access.rules : undefined))
  }

  async #audit({ parameters }: Call): Promise<Answer> {
    const limit = Number(parameters.get('limit') ?? LIMIT_DEFAULT)
    return jsonAnswer(200, await readAudit(this.#options.store, parameters.get('after'), limit))
  }
}
