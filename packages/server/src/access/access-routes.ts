/** `GET /access`: the rules in effect. `GET /audit`: who changed what, the oldest first. `GET /quotas`: who has how much. For admins. */
import type { Store } from '@freshet/core/store'
import type { BucketDirectory } from '../data/bucket-directory.js'
import type { Answer } from '../http/answer.js'
import { jsonAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import type { Access } from './access.js'
import { recallRules } from './access-record.js'
import { readAudit } from './audit.js'
import { namespaceOf } from './quotas/usage-record.js'

const LIMIT_DEFAULT = 100

export interface AccessRoutesOptions {
  readonly store: Store
  readonly access: Access
  readonly buckets: BucketDirectory
}

export class AccessRoutes {
  readonly #store: Store
  readonly #access: Access
  readonly #buckets: BucketDirectory

  constructor({ store, access, buckets }: AccessRoutesOptions) {
    this.#store = store
    this.#access = access
    this.#buckets = buckets
  }

  routes(): readonly Route[] {
    return [
      { pattern: '/access', operations: { GET: { access: 'admin', handle: () => this.#rules() } } },
      { pattern: '/quotas', operations: { GET: { access: 'admin', handle: () => this.#quotas() } } },
      {
        pattern: '/audit',
        operations: { GET: { access: 'admin', handle: call => this.#audit(call), parameters: ['after', 'limit'] } },
      },
    ]
  }

  async #rules(): Promise<Answer> {
    return jsonAnswer(200, { rules: (await recallRules(this.#store)).text })
  }

  async #quotas(): Promise<Answer> {
    const { quotas, rules } = this.#access
    return jsonAnswer(200, { namespaces: await quotas.usage(rules, this.#buckets.keys().map(namespaceOf)) })
  }

  async #audit({ parameters }: Call): Promise<Answer> {
    const limit = Number(parameters.get('limit') ?? LIMIT_DEFAULT)
    return jsonAnswer(200, await readAudit(this.#store, parameters.get('after'), limit))
  }
}
