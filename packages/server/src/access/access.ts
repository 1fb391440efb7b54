/**
 * Who may do what: tokens, rules, limits. One of a server; without one, everybody may do everything.
 *
 * The rules that count are those in the store (`access-record.ts`). A server that is started with others puts its own there, and the
 * others take them from the log. One that is started with none does not take them away from the others, unless it is told to.
 */
import type { IncomingMessage } from 'node:http'
import type { LogEntry, ReadVersion, Store } from '@freshet/core/store'
import { bucketOfKey, FreshetError, type Key } from '@freshet/protocol'
import type { AccessNeed } from '../http/call.js'
import type { Exchange } from '../http/exchange.js'
import { describeError, type Log } from '../operations/log.js'
import { ACCESS_KEY, lastRulesChange, recallRules } from './access-record.js'
import { Caller } from './caller.js'
import { putOwnRules, type StoredRulesChoice } from './put-own-rules.js'
import { Quotas } from './quotas/quotas.js'
import { namespaceOf } from './quotas/usage-record.js'
import { type RateLimitConfig, RateLimits } from './rate-limits.js'
import { AccessRules, type Claims } from './rules/access-rules.js'
import { checkExamples } from './rules/check-examples.js'
import { type ParsedRules, parseRules } from './rules/parse-rules.js'
import type { TokenConfig } from './token-config.js'
import { TokenVerifier } from './token-verifier.js'

export interface AccessConfig {
  /** The text of a rules file: docs/access.md. */
  readonly rules: string
  readonly tokens: TokenConfig
}

export interface AccessOptions {
  readonly store: Store
  readonly log: Log
  /** Undefined: everybody may do everything. */
  readonly config: AccessConfig | undefined
  /** Refuse, unless given. */
  readonly storedRules?: StoredRulesChoice | undefined
  readonly limits: RateLimitConfig | undefined
  /** Whether its rules become those of the store when it starts. */
  readonly putsRules: boolean
}

const NO_RULES: ParsedRules = {
  ...{ admin: [], metrics: [], wall: undefined, quotas: new Map(), buckets: [], examples: [] },
}
const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i

export class Access {
  readonly #store: Store
  readonly #log: Log
  readonly #own: string | undefined
  readonly #putsRules: boolean
  readonly #storedRules: StoredRulesChoice | undefined
  readonly #tokens: TokenVerifier | undefined
  #rules: AccessRules
  readonly limits: RateLimits | undefined
  readonly quotas: Quotas
  #isOn: boolean
  /** Called when the rules have changed. */
  onChange: () => void = () => undefined

  /** Throws RULES_INVALID, and a TypeError if the keys of tokens cannot be meant. */
  constructor({ store, log, config, storedRules, limits, putsRules }: AccessOptions) {
    this.#store = store
    this.#log = log
    this.#isOn = config !== undefined
    this.#own = config?.rules
    this.#storedRules = storedRules
    this.#putsRules = putsRules
    this.#tokens = config && new TokenVerifier(config.tokens)
    this.#rules = new AccessRules(config ? readRules(config.rules) : NO_RULES)
    this.limits = limits && new RateLimits(limits)
    this.quotas = new Quotas(store)
  }

  /** Without it nothing is asked and nothing is kept from anybody. */
  get isOn(): boolean {
    return this.#isOn
  }

  /** Those in effect; where everybody may do everything, none. */
  get rules(): AccessRules {
    return this.#rules
  }

  /** What a commit that was decided by them relies on. */
  get rulesRead(): ReadVersion {
    return { key: ACCESS_KEY, version: this.#rules.version }
  }

  /** To be done before the log is followed. Throws ACCESS_REQUIRED. */
  async start(): Promise<void> {
    const [store, log] = [this.#store, this.#log]
    if (this.#putsRules) await putOwnRules({ store, log, rules: this.#own, storedRules: this.#storedRules })
    await this.load()
  }

  /** All of it, as the store has it now. */
  async load(): Promise<void> {
    if (this.#ignoresRules) return
    await this.#reload()
    if (this.isOn) await this.quotas.load()
  }

  /** Takes what these commits changed of the rules. */
  follow(entries: readonly LogEntry[]): Promise<void> | undefined {
    if (this.#ignoresRules) return undefined
    const haveChanged = lastRulesChange(entries) !== -1
    // One that had none until now has not counted either.
    if (!this.isOn) return haveChanged ? this.load() : undefined
    const counting = this.quotas.follow(entries)
    return haveChanged ? Promise.all([counting, this.#reload()]).then(() => undefined) : counting
  }

  /** Whether everybody may read the object, whatever it is, and nobody counts: so nobody need be asked who they are. */
  isOpenRead(key: Key): boolean {
    if (this.#rules.hasQuotas && this.#rules.quotaOf(namespaceOf(key))?.requests !== undefined) return false
    return this.#rules.openness('read', bucketOfKey(key)) === 'always'
  }

  /** Whether caches may have copies of anything in the bucket. */
  mayBeCached(bucket: Key): boolean {
    return !this.isOn || this.#rules.openness('read', bucket) !== 'never'
  }

  /**
   * `namespace`: of what is asked for, if it is in one. What admins ask for is not held against it, so that they can help. Throws
   * UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED, QUOTA_EXCEEDED.
   */
  async admit(exchange: Exchange, need: AccessNeed | undefined, namespace?: string): Promise<Caller | undefined> {
    if (!this.isOn) return undefined
    if (need === 'anyone') return undefined
    const claims = await this.#claimsOf(exchange.request)
    const caller = new Caller(() => this.#rules, claims)
    if (claims !== undefined) this.limits?.takeBySubject(exchange, caller.subject)
    // What nobody has thought about is nobody's.
    if (need === undefined) throw caller.refusal()
    if (need === 'admin') caller.checkAdmin()
    else if (need === 'metrics') caller.checkMetrics()
    else if (namespace !== undefined) await this.takeRequest(caller, [namespace])
    return caller
  }

  /** Of each of these namespaces. Throws QUOTA_EXCEEDED. */
  async takeRequest(caller: Caller, namespaces: Iterable<string>): Promise<void> {
    if (!this.#rules.hasQuotas || this.#rules.isAdmin(caller.claims)) return
    for (const namespace of new Set(namespaces)) await this.quotas.takeRequest(this.#rules, namespace)
  }

  async #claimsOf({ headers, rawHeaders }: IncomingMessage): Promise<Claims | undefined> {
    const { authorization } = headers
    if (authorization === undefined) return undefined
    // Node takes the first of several; who knows which one a cache took.
    const count = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'authorization').length
    const [, token] = BEARER.exec(authorization) ?? []
    if (count > 1 || token === undefined) throw notBearer()
    if (this.#tokens === undefined) throw withoutKeys()
    try {
      return await this.#tokens.verify(token)
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'SERVER_BUSY') {
        this.#log.write('error', 'keys of tokens cannot be had', describeError(error))
      }
      throw error
    }
  }

  get #ignoresRules(): boolean {
    return this.#tokens === undefined && this.#storedRules === 'ignore'
  }

  async #reload(): Promise<void> {
    const { text, version } = await recallRules(this.#store)
    if (this.#tokens === undefined) this.#heedRules(text !== null)
    try {
      this.#rules = new AccessRules(text === null ? NO_RULES : readRules(text), version)
    } catch (error) {
      // Of a newer Freshet, perhaps. What cannot be read allows nothing.
      this.#rules = new AccessRules(NO_RULES, version)
      this.#log.write('error', 'the rules in the store cannot be read: nothing is allowed', describeError(error))
    }
    this.onChange()
  }

  /** Of a server that was given none, over a store that others give some: it lets nobody do what they do not let everybody do. */
  #heedRules(areThere: boolean): void {
    if (areThere && !this.#isOn)
      this.#log.write('error', 'the store has access rules now: start with --rules to know tokens')
    this.#isOn = areThere
  }
}

function readRules(text: string): ParsedRules {
  const { rules, mistakes } = parseRules(text)
  const wrong = rules === undefined ? mistakes : checkExamples(rules)
  if (rules !== undefined && wrong.length === 0) return rules
  const list = wrong.map(({ line, column, message }) => `${line}:${column}: ${message}`)
  throw new FreshetError('RULES_INVALID', `The rules cannot be these. ${list.join(' ')}`)
}

function withoutKeys(): FreshetError {
  return new FreshetError(
    'UNAUTHENTICATED',
    'This server was started without access rules, so it knows no token; since then its store was given some. Start it with --rules.',
    { details: { challenge: 'Bearer error="invalid_token"' } },
  )
}

function notBearer(): FreshetError {
  return new FreshetError('UNAUTHENTICATED', 'Send one header "Authorization: Bearer TOKEN".', {
    details: { challenge: 'Bearer error="invalid_request"' },
  })
}
