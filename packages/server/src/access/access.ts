/**
 * Decides who may do what: tokens, rules, limits. A server has one; without it, everybody may do everything.
 *
 * The rules in the store are the ones that count (`access-record.ts`). A server that is started with rules writes them to the
 * store only if the store has none (`put-own-rules.ts`). All servers learn of a change from the log.
 */
import type { IncomingMessage } from 'node:http'
import type { LogEntry, MaybePromise, ReadVersion, Store } from '@freshet/core/store'
import { bucketOfKey, FreshetError, type Key, type OpenBuckets } from '@freshet/protocol'
import type { ClientAddresses } from '../http/client-addresses.js'
import type { Exchange } from '../http/exchange.js'
import { describeError, type Log } from '../monitoring/log.js'
import { ACCESS_KEY, lastRulesChange, type StoredRules } from './access-record.js'
import { Caller } from './caller.js'
import { type KnownRules, putBackRules, type RulesMemory } from './known-rules.js'
import { putOwnRules, type StoredRulesChoice } from './put-own-rules.js'
import { Quotas } from './quotas/quotas.js'
import { namespaceOf } from './quotas/usage-record.js'
import { type RateLimitConfig, RateLimits } from './rate-limits.js'
import { AccessRules } from './rules/access-rules.js'
import type { Claims } from './rules/decision.js'
import type { ParsedRules } from './rules/parse-rules.js'
import { readRules } from './rules/read-rules.js'
import { RIGHTS, type Right } from './rules/rights.js'
import type { TokenConfig } from './token-config.js'
import { TokenVerifier } from './token-verifier.js'

export interface AccessConfig {
  /** The text of a rules file (docs/guides/access.md), for a store that has no rules yet; undefined: only the store's rules count. */
  readonly rules?: string | undefined
  readonly tokens: TokenConfig
}

export interface AccessOptions {
  readonly store: Store
  readonly log: Log
  /** Undefined: everybody may do everything. */
  readonly config: AccessConfig | undefined
  /** Default: 'refuse'; 'require' if there are token keys. */
  readonly storedRules?: StoredRulesChoice | undefined
  readonly limits: RateLimitConfig | undefined
  readonly clients: ClientAddresses
  /** Whether this server's rules become those of a store that has none when the server starts. */
  readonly putsRules: boolean
  /** Undefined: what this server knows of the rules is lost when its process ends. */
  readonly rulesMemory?: RulesMemory | undefined
}

/**
 * Which callers may use the route if there are rules. `rules`: its handler asks the caller (`caller.ts`) about each bucket and
 * object.
 */
export type AccessNeed = 'anyone' | 'rules' | 'metrics' | 'admin'

export interface Admission {
  /** Without it, every caller is refused. A test requires it for every method of every route. */
  readonly access?: AccessNeed
  /**
   * With `rules`: a caller who could not have any of these rights, on what the path names or else anywhere, is refused before
   * the body is read and before anything is looked up.
   */
  readonly rights?: readonly Right[]
}

const NO_RULES: ParsedRules = {
  ...{ admin: [], metrics: [], wall: undefined, quotas: new Map(), buckets: [], examples: [] },
}
const UNCONFIRMED =
  'the access rules in the store are from a backup, and may be older than those that were last in force: nothing is allowed ' +
  'until an operator confirms them (freshet rules confirm) or applies others (freshet rules apply FILE), each with --store ' +
  'URL'
/** The usual spelling of the scheme. Only tokens in this spelling are looked up without parsing the header. */
const BEARER_START = 'Bearer '
const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]+)$/i

export class Access {
  readonly #store: Store
  readonly #log: Log
  readonly #own: string | undefined
  readonly #putsRules: boolean
  readonly #storedRules: StoredRulesChoice | undefined
  readonly #tokens: TokenVerifier | undefined
  #rules: AccessRules
  /** The newest rules that this server knew to be in force. */
  #known: KnownRules | undefined
  readonly #memory: RulesMemory | undefined
  #noting: Promise<void> | undefined
  readonly #clients: ClientAddresses
  readonly limits: RateLimits | undefined
  readonly quotas: Quotas
  #isOn: boolean
  /** Called when the rules have changed. */
  onChange: () => void = () => undefined
  /** Follows the log to its end, and so learns the rules that are in force now. */
  catchUp: () => MaybePromise<void> = () => undefined

  /** Throws RULES_INVALID, and a TypeError if the token keys are invalid. */
  constructor({ store, log, config, storedRules, limits, clients, putsRules, rulesMemory }: AccessOptions) {
    this.#store = store
    this.#log = log
    this.#isOn = config?.rules !== undefined
    this.#own = config?.rules
    this.#storedRules = storedRules
    this.#putsRules = putsRules
    this.#memory = rulesMemory
    this.#known = rulesMemory?.known
    this.#tokens = config && new TokenVerifier(config.tokens)
    this.#rules = new AccessRules(config?.rules === undefined ? NO_RULES : readRules(config.rules))
    this.#clients = clients
    this.limits = limits && new RateLimits(limits, clients)
    this.quotas = new Quotas(store)
  }

  /** False: no caller is checked, and nothing is hidden from anybody. */
  get isOn(): boolean {
    return this.#isOn
  }

  /** Whether rules can be changed here. A server without rules does not take them from the first caller that sends some. */
  get mayChange(): boolean {
    return this.isOn || this.#ignoresRules
  }

  /** The rules in force; empty if everybody may do everything. */
  get rules(): AccessRules {
    return this.#rules
  }

  /** The version of the rules, which a commit that they allowed depends on. */
  get rulesRead(): ReadVersion {
    return { key: ACCESS_KEY, version: this.#rules.version }
  }

  /** Must be called before the log is followed. Throws ACCESS_REQUIRED. */
  async start(): Promise<void> {
    const [store, log] = [this.#store, this.#log]
    const storedRules = this.#storedRules ?? (this.#tokens === undefined ? 'refuse' : 'require')
    if (this.#putsRules) {
      // Before it writes its own: a store from before there were any rules must not be given an older file.
      if (!this.#ignoresRules) await this.#recall()
      await putOwnRules({ store, log, rules: this.#own, storedRules })
    }
    await this.load()
    await this.#noting
  }

  /** Loads the rules as the store has them now. */
  async load(): Promise<void> {
    if (this.#ignoresRules) return
    await this.#reload()
    if (this.isOn) await this.quotas.load()
  }

  /** Applies changes of the rules among these commits. */
  follow(entries: readonly LogEntry[]): Promise<void> | undefined {
    if (this.#ignoresRules) return undefined
    const haveChanged = lastRulesChange(entries) !== -1
    // A server that had no rules until now has not counted usage either.
    if (!this.isOn) return haveChanged ? this.load() : undefined
    const counting = this.quotas.follow(entries)
    return haveChanged ? Promise.all([counting, this.#reload()]).then(() => undefined) : counting
  }

  /**
   * Whether everybody may read the object, whatever its contents, and requests are not counted, so that callers need not be
   * identified.
   */
  isOpenRead(key: Key): boolean {
    if (this.#countsRequests(key)) return false
    return this.#rules.openness('read', bucketOfKey(key)) === 'always'
  }

  /**
   * Admits a caller who reads an object, as `admit` does, if that needs no waiting: the token was verified recently, and
   * requests are not counted. Returns undefined if `admit` must decide: it would have to wait, or it may refuse the caller.
   * `authorization`: the header, if there is one.
   */
  admitAtOnce(key: Key, authorization: string | undefined): Caller | undefined {
    if (!this.#isOn || this.limits !== undefined || this.#countsRequests(key)) return undefined
    const claims = authorization === undefined ? undefined : this.#recallToken(authorization)
    if (claims === undefined && authorization !== undefined) return undefined
    const caller = new Caller(() => this.#rules, claims)
    return caller.might('read', key) ? caller : undefined
  }

  #recallToken(authorization: string): Claims | undefined {
    if (!authorization.startsWith(BEARER_START)) return undefined
    return this.#tokens?.recall(authorization.slice(BEARER_START.length))
  }

  #countsRequests(key: Key): boolean {
    return this.#rules.hasQuotas && this.#rules.quotaOf(namespaceOf(key))?.requests !== undefined
  }

  /** What can be read without a token. It shows what the rules say, but not which buckets exist. */
  get openBuckets(): OpenBuckets {
    if (!this.isOn) return { read: ['*/*'], list: ['*/*'] }
    return { read: this.#rules.openPatterns('read'), list: this.#rules.openPatterns('list') }
  }

  /** Whether caches may keep copies of anything in the bucket. */
  mayBeCached(bucket: Key): boolean {
    return !this.isOn || this.#rules.openness('read', bucket) !== 'never'
  }

  /** Whether caches may keep copies of the bucket's lists and query results. */
  mayListsBeCached(bucket: Key): boolean {
    return !this.isOn || this.#rules.areListsOpen(bucket)
  }

  /**
   * `key`: the namespace, bucket or object that the path names, if it names one. A request counts towards the quota of its
   * namespace if the caller could do something there. Admins' requests do not count, since an admin must be able to help.
   * Throws UNAUTHENTICATED, FORBIDDEN, RATE_LIMITED, QUOTA_EXCEEDED.
   */
  async admit(exchange: Exchange, { access: need, rights }: Admission, key?: Key): Promise<Caller | undefined> {
    if (!this.isOn) return undefined
    if (need === 'anyone') return undefined
    const claims = await this.#claimsOf(exchange.request)
    const caller = new Caller(() => this.#rules, claims, this.#clients.addressOf(exchange.request))
    exchange.subject = caller.subject
    if (claims !== undefined) this.limits?.takeBySubject(exchange, caller.subject)
    // A route that does not declare its access is closed.
    if (need === undefined) throw caller.refusal()
    if (need === 'admin') caller.checkAdmin()
    else if (need === 'metrics') caller.checkMetrics()
    else if (rights !== undefined && !isPossible(caller, rights, key)) {
      // Another server may have received other rules a moment ago.
      await this.catchUp()
      caller.decideAnew()
      if (!isPossible(caller, rights, key)) throw caller.refusal()
    }
    if (need === 'rules' && key !== undefined && caller.mightSomewhere(rights ?? RIGHTS, namespaceOf(key)))
      await this.takeRequest(caller, [namespaceOf(key)])
    return caller
  }

  /** Counts a request in each of these namespaces. Throws QUOTA_EXCEEDED. */
  async takeRequest(caller: Caller, namespaces: Iterable<string>): Promise<void> {
    if (!this.#rules.hasQuotas || this.#rules.isAdmin(caller.claims)) return
    for (const namespace of new Set(namespaces)) await this.quotas.takeRequest(this.#rules, namespace)
  }

  async #claimsOf({ headers, rawHeaders }: IncomingMessage): Promise<Claims | undefined> {
    const { authorization } = headers
    if (authorization === undefined) return undefined
    // Node takes the first of several headers; a cache may have taken another.
    const count = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === 'authorization').length
    const [, token] = BEARER.exec(authorization) ?? []
    if (count > 1 || token === undefined) throw notBearer()
    if (this.#tokens === undefined) throw withoutKeys()
    try {
      return await this.#tokens.verify(token)
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'SERVER_BUSY') {
        this.#log.write('error', 'the token keys cannot be fetched', describeError(error))
      }
      throw error
    }
  }

  get #ignoresRules(): boolean {
    return this.#tokens === undefined && this.#storedRules === 'ignore'
  }

  async #recall(): Promise<StoredRules> {
    const rules = await putBackRules(this.#store, this.#log, this.#known)
    if (rules.isUnconfirmed) return rules
    const { text, version, since } = rules
    const { log } = this.#store
    const isNew = this.#known?.version !== version || this.#known.log !== log
    this.#known = { text, version, since, log }
    if (isNew && version > 0) this.#noting = this.#memory?.note(this.#known)
    return rules
  }

  async #reload(): Promise<void> {
    const { text, version, isUnconfirmed } = await this.#recall()
    const isDenied = isUnconfirmed && (text !== null || this.#tokens !== undefined)
    if (isDenied) this.#log.write('error', UNCONFIRMED, { version })
    if (this.#own === undefined) this.#heedRules(text !== null || isDenied)
    try {
      this.#rules = new AccessRules(text === null || isDenied ? NO_RULES : readRules(text), version)
    } catch (error) {
      // Perhaps a newer Freshet wrote them. Rules that cannot be read allow nothing.
      this.#rules = new AccessRules(NO_RULES, version)
      this.#log.write('error', 'the rules in the store cannot be read: nothing is allowed', describeError(error))
    }
    this.onChange()
  }

  /**
   * For a server that was started without rules over a store that gets some from other servers: callers without a token can
   * still do only what the rules let everybody do.
   */
  #heedRules(areThere: boolean): void {
    if (areThere && !this.#isOn && this.#tokens === undefined)
      this.#log.write(
        'error',
        'the store has access rules now: restart this server with token keys, such as FRESHET_TOKEN_SECRET',
      )
    this.#isOn = areThere
  }
}

function isPossible(caller: Caller, rights: readonly Right[], key: Key | undefined): boolean {
  return key === undefined ? caller.mightSomewhere(rights) : rights.some(right => caller.might(right, key))
}

function withoutKeys(): FreshetError {
  return new FreshetError(
    'UNAUTHENTICATED',
    'This server was started without token keys, so it can verify no token. Since then its store was given access rules. ' +
      'Restart it with FRESHET_TOKEN_SECRET, or with other keys.',
    { details: { challenge: 'Bearer error="invalid_token"' } },
  )
}

function notBearer(): FreshetError {
  return new FreshetError('UNAUTHENTICATED', 'Send one header "Authorization: Bearer TOKEN".', {
    details: { challenge: 'Bearer error="invalid_request"' },
  })
}
