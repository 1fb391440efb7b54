/** `GET /access`: the rules in effect. `GET /audit`: who changed what, the oldest first. For admins. */
import type { Store } from '@freshet/core/store'
import type { Answer } from '../http/answer.js'
import { jsonAnswer } from '../http/answer.js'
import type { Call, Route } from '../http/call.js'
import { recallRules } from './access-record.js'
import { readAudit } from './audit.js'

const LIMIT_DEFAULT = 100

export class AccessRoutes {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  routes(): readonly Route[] {
    return [
      { pattern: '/access', operations: { GET: { access: 'admin', handle: () => this.#rules() } } },
      {
        pattern: '/audit',
        operations: { GET: { access: 'admin', handle: call => this.#audit(call), parameters: ['after', 'limit'] } },
      },
    ]
  }

  async #rules(): Promise<Answer> {
    return jsonAnswer(200, { rules: (await recallRules(this.#store)) ?? null })
  }

  async #audit({ parameters }: Call): Promise<Answer> {
    const limit = Number(parameters.get('limit') ?? LIMIT_DEFAULT)
    return jsonAnswer(200, await readAudit(this.#store, parameters.get('after'), limit))
  }
}
