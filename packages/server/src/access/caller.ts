/**
 * The identity of a caller, and what they may do. A handler asks before it shows or changes anything. A handler that answers
 * without asking has a bug, and its answer is not sent (`wasAsked`).
 */
import type { ReadList, ReadVersion } from '@freshet/core/store'
import { bucketOfKey, FreshetError, idOfKey, type Key, partsOfTag, type Tag, tagOf } from '@freshet/protocol'
import { ACCESS_KEY } from './access-record.js'
import { identityOf } from './identity.js'
import type { AccessRules } from './rules/access-rules.js'
import type { Claims, Row } from './rules/decision.js'
import { type Branch, type Demands, isExact, isOfIds, seesEveryRow } from './rules/demands.js'
import { type ObjectMembers, parseValue, type Value } from './rules/object-members.js'
import type { Right } from './rules/rights.js'

/** Cache-Control for an answer that not everybody may see: no cache may keep any of it. */
export const PRIVATE = 'private, no-store'

/** An object, with its parsed members if they are at hand. */
export interface Judged extends Value {
  readonly members?: ObjectMembers
}

export class Caller {
  readonly #current: () => AccessRules
  #rules: AccessRules
  #identity: string | undefined
  /** Undefined: the caller has no token. */
  readonly claims: Claims | undefined
  /**
   * The address that the request came from, past trusted proxies; empty if it came from within the process, and for a plain
   * read, which is not audited.
   */
  readonly from: string
  wasAsked = false

  constructor(current: () => AccessRules, claims: Claims | undefined, from = '') {
    this.#current = current
    this.#rules = current()
    this.claims = claims
    this.from = from
  }

  /** Everything is decided by these rules until the next `decideAnew`. */
  get rules(): AccessRules {
    return this.#rules
  }

  /** For a handler that has followed the log, or retries: decides by the rules as they are now. */
  decideAnew(): void {
    this.#rules = this.#current()
  }

  /** Whether the rules by which everything was decided are still in force. */
  get isUpToDate(): boolean {
    return this.#rules === this.#current()
  }

  /** The version of the rules, which a commit that they allowed depends on. */
  get rulesRead(): ReadVersion {
    return { key: ACCESS_KEY, version: this.#rules.version }
  }

  /** The subject as the token's issuer names it; empty for a caller without a token. */
  get subject(): string {
    const { iss = '', sub = '' } = this.claims ?? {}
    return this.claims === undefined ? '' : `${String(iss)} ${String(sub)}`
  }

  /** Distinguishes this caller from every other; empty for callers without a token. */
  get identity(): string {
    this.#identity ??= identityOf(this.claims)
    return this.#identity
  }

  get isAdmin(): boolean {
    this.wasAsked = true
    return this.#rules.isAdmin(this.claims)
  }

  may(right: Right, key: Key, object?: Judged, next?: Value): boolean {
    this.wasAsked = true
    return this.#decide(right, this.claims, key, object, next)
  }

  /** Whether the caller may do this for some object that could be stored under this key. */
  might(right: Right, key: Key): boolean {
    this.wasAsked = true
    return this.#rules.mightAllow(right, this.claims, key)
  }

  /** Whether the caller may do one of these to some object in some bucket, in this namespace if one is given. */
  mightSomewhere(rights: readonly Right[], namespace?: string): boolean {
    return this.#rules.mightAllowSomewhere(rights, this.claims, namespace)
  }

  /** Throws UNAUTHENTICATED or FORBIDDEN, neither of which reveals what is stored. */
  check(right: Right, key: Key, object?: Judged, next?: Value): void {
    if (!this.may(right, key, object, next)) throw this.refusal()
  }

  /**
   * The object as this caller may see it. A hidden object is 'absent' if the caller would learn of an absent one, else
   * undefined.
   */
  seen<Found extends Judged>(key: Key, found: Found | undefined): Found | 'absent' | undefined {
    if (found !== undefined && this.may('read', key, found)) return found
    return this.may('read', key) ? 'absent' : undefined
  }

  checkAdmin(): void {
    if (!this.isAdmin) throw this.refusal()
  }

  checkMetrics(): void {
    this.wasAsked = true
    if (!this.#rules.mayMeasure(this.claims)) throw this.refusal()
  }

  /** Whether a caller without a token may do it, too. */
  isOpen(right: Right, key: Key, object?: Judged): boolean {
    this.wasAsked = true
    return this.#decide(right, undefined, key, object)
  }

  #decide(right: Right, claims: Claims | undefined, key: Key, object?: Judged, next?: Value): boolean {
    const decision = this.#rules.decide(right, claims, bucketOfKey(key))
    return decision.always ?? decision.allows(idOfKey(key), new JudgedRow(decision.members, object, next))
  }

  /** Whether the lists of a bucket are the same for everybody, so that caches may keep them. */
  seesWhatAllSee(bucket: Key): boolean {
    return this.#rules.areListsOpen(bucket)
  }

  /** The objects of a bucket that this caller may read, in a form that an index can find; undefined if no index can. */
  visibleIn(bucket: Key): Demands | undefined {
    return this.#rules.visibleTo(this.claims, bucket)
  }

  /** Whether this caller may read every object of a bucket, whatever its contents. */
  seesAllOf(bucket: Key): boolean {
    return seesEveryRow(this.visibleIn(bucket))
  }

  /**
   * Whether this caller may read everything that such a list, or such tags, cover. If not, the news that it has changed would
   * reveal something about objects that are hidden from the caller.
   */
  seesWhole({ bucket, tags, prefix }: ReadList): boolean {
    const branches = this.visibleIn(bucket) ?? []
    if (branches.some(branch => branch.length === 0)) return true
    if (tags === undefined) return prefix !== undefined && branches.some(branch => isWithinPrefix(prefix, branch))
    return tags.every(tag => branches.some(branch => isTagWithin(tag, bucket, branch)))
  }

  /** Whether the decision depends on the stored object. Then the object must be unchanged when the write is committed. */
  looksAt(right: Right, key: Key): boolean {
    return this.#rules.looksAt(right, bucketOfKey(key))
  }

  refusal(): FreshetError {
    if (this.claims === undefined) {
      return new FreshetError('UNAUTHENTICATED', 'This needs a token: send "Authorization: Bearer ...".', {
        details: { challenge: 'Bearer' },
      })
    }
    return new FreshetError('FORBIDDEN', 'The rules of this server do not let the bearer of this token do this.')
  }
}

function isWithinPrefix(prefix: string, branch: Branch): boolean {
  return (
    isOfIds(branch) && branch.every(({ wanted }) => wanted.$prefix !== undefined && prefix.startsWith(wanted.$prefix))
  )
}

/** Whether the tag demands everything that the branch demands. */
function isTagWithin(tag: Tag, bucket: Key, branch: Branch): boolean {
  const parts = partsOfTag(tag)
  if (parts === undefined || parts.fields.length !== parts.values.length || !isExact(branch)) return false
  const demanded = new Set(parts.fields.map((field, i) => `${bucket}?${field}=[${parts.values[i]}]`))
  return branch.every(({ field, wanted }) => demanded.has(tagOf(bucket, [field], [wanted.$eq])))
}

/** Parsed once, when a rule first looks at it. */
class JudgedRow implements Row {
  readonly #members: readonly string[]
  readonly #object: Judged | undefined
  readonly #next: Value | undefined
  #objectSeen: { readonly value: unknown } | undefined
  #nextSeen: { readonly value: unknown } | undefined

  constructor(members: readonly string[], object: Judged | undefined, next: Value | undefined) {
    this.#members = members
    this.#object = object
    this.#next = next
  }

  get object(): unknown {
    this.#objectSeen ??= { value: this.#parseObject() }
    return this.#objectSeen.value
  }

  get next(): unknown {
    this.#nextSeen ??= { value: this.#next && parseValue(this.#next) }
    return this.#nextSeen.value
  }

  #parseObject(): unknown {
    const object = this.#object
    if (object === undefined) return undefined
    return object.members === undefined ? parseValue(object) : object.members.with(this.#members)
  }
}
