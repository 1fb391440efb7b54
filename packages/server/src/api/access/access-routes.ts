/**
 * Routes for admins: `GET /access` returns the rules in force; `PUT /access` replaces them, if they still have the expected
 * version. `POST /access/try`: what a caller with given claims may do. `GET /audit`: who did what, the oldest first; `POST
 * /audit` records that a token was made. `GET /quotas`: how much each namespace uses.
 */
import { hostname } from 'node:os'
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { Access } from '../../access/access.js'
import { type RulesText, recallRules } from '../../access/access-record.js'
import { applyRules, type RulesChange } from '../../access/apply-rules.js'
import { type Audited, readAudit } from '../../access/audit.js'
import type { AuditTrail } from '../../access/audit-trail.js'
import type { Caller } from '../../access/caller.js'
import { namespaceOf } from '../../access/quotas/usage-record.js'
import { tryAccess } from '../../access/try-access.js'
import type { BucketDirectory } from '../../buckets/bucket-directory.js'
import type { Answer } from '../../http/answer.js'
import { jsonAnswer } from '../../http/answer.js'
import { readBody } from '../../http/request-body.js'
import { readJsonObject } from '../../json/json-text.js'
import type { Log } from '../../monitoring/log.js'
import type { Call, Route } from '../../routing/call.js'
import type { ServerSettings } from '../../settings/server-settings.js'

export interface AccessRoutesOptions {
  readonly store: Store
  readonly access: Access
  readonly buckets: BucketDirectory
  readonly settings: ServerSettings
  readonly log: Log
  readonly trail: AuditTrail
}

const LIMIT_DEFAULT = 100

export class AccessRoutes {
  readonly #options: AccessRoutesOptions

  constructor(options: AccessRoutesOptions) {
    this.#options = options
  }

  routes(): readonly Route[] {
    return [
      {
        pattern: '/access',
        methods: {
          GET: { access: 'admin', handle: () => this.#rules() },
          PUT: { access: 'admin', handle: call => this.#apply(call), takesBody: true },
        },
      },
      { pattern: '/quotas', methods: { GET: { access: 'admin', handle: () => this.#quotas() } } },
      {
        pattern: '/access/try',
        methods: { POST: { access: 'admin', handle: call => this.#try(call), takesBody: true } },
      },
      {
        pattern: '/audit',
        methods: {
          GET: { access: 'admin', handle: call => this.#audit(call), parameters: ['after', 'limit'] },
          POST: { access: 'admin', handle: call => this.#noteToken(call), takesBody: true },
        },
      },
    ]
  }

  async #rules(): Promise<Answer> {
    const { text, version, isUnconfirmed } = await recallRules(this.#options.store)
    return jsonAnswer(200, { rules: text, version, ...(isUnconfirmed ? { isUnconfirmed } : {}) })
  }

  async #apply({ exchange, caller }: Call): Promise<Answer> {
    const { store, access, settings, log } = this.#options
    if (!access.mayChange) throw withoutRules()
    const body = readJsonObject(await readBody(exchange, settings.bodyBytesMax, 'bodyBytesMax'), settings)
    const by = byOf(caller)
    const applied = await applyRules(store, { ...readChange(body), ...by, claims: caller?.claims })
    const { hasChanged, version } = applied
    if (hasChanged) log.write('info', 'audit', { what: 'rules', ...by, isOn: true, version })
    return jsonAnswer(200, applied)
  }

  async #quotas(): Promise<Answer> {
    const { access, buckets } = this.#options
    return jsonAnswer(200, { namespaces: await access.quotas.usage(access.rules, buckets.keys().map(namespaceOf)) })
  }

  async #try({ exchange }: Call): Promise<Answer> {
    const { store, access, settings } = this.#options
    const body = readJsonObject(await readBody(exchange, settings.bodyBytesMax, 'bodyBytesMax'), settings)
    return jsonAnswer(200, await tryAccess(store, body, access.isOn ? access.rules : undefined))
  }

  /** Records that a token was made. Tokens are signed elsewhere, so the program that makes one reports it. */
  async #noteToken({ exchange, caller }: Call): Promise<Answer> {
    const { access, settings, trail } = this.#options
    if (!access.mayChange) throw withoutRules()
    const body = readJsonObject(await readBody(exchange, settings.bodyBytesMax, 'bodyBytesMax'), settings)
    await trail.record({ ...byOf(caller), what: 'token', before: null, after: readMadeToken(body) })
    return jsonAnswer(200, { isNoted: true })
  }

  async #audit({ parameters }: Call): Promise<Answer> {
    const limit = Number(parameters.get('limit') ?? LIMIT_DEFAULT)
    return jsonAnswer(200, await readAudit(this.#options.store, parameters.get('after'), limit))
  }
}

/** Without rules, only a command that opens the store itself gets this far. */
function byOf(caller: Caller | undefined): Pick<Audited, 'who' | 'from'> {
  return { who: caller?.subject ?? `${hostname()} (with the store at hand)`, from: caller?.from ?? hostname() }
}

function readMadeToken(body: string): Record<string, unknown> {
  const { token, ...others } = JSON.parse(body) as Record<string, unknown>
  if (typeof token === 'object' && token !== null && !Array.isArray(token) && Object.keys(others).length === 0) {
    return token as Record<string, unknown>
  }
  throw new FreshetError(
    'BODY_INVALID',
    'Send {"token":{"sub":"ada","exp":1795000000}}: the claims of the token that was made.',
  )
}

function readChange(body: string): Pick<RulesChange, 'rules' | 'ifVersion' | 'mayWiden'> {
  const { rules, ifVersion, widen = false, ...others } = JSON.parse(body) as Record<string, unknown>
  const isText = rules === null || typeof rules === 'string'
  if (!isText || !Number.isSafeInteger(ifVersion) || typeof widen !== 'boolean' || Object.keys(others).length > 0) {
    throw new FreshetError(
      'BODY_INVALID',
      'Send {"rules":"the text of a rules file, or null","ifVersion":105}, with the version from GET /access. Add ' +
        '"widen":true if the rules may allow more than those before.',
    )
  }
  return { rules: rules as RulesText, ifVersion: ifVersion as number, mayWiden: widen }
}

function withoutRules(): FreshetError {
  return new FreshetError(
    'FORBIDDEN',
    'This server has no access rules, so anybody could set them. Start it with --rules FILE, or apply rules to the store: ' +
      'freshet rules apply FILE --store URL.',
  )
}
