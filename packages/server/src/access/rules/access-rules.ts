/**
 * Evaluates the rules: who may do what with which bucket. The lines for a bucket are looked up once, and they are decided for a
 * caller once for each right (`decision.ts`). Both results are kept here, so a new set of rules starts with nothing decided.
 */
import { bucketOfKey, idOfKey, type Key, type Version } from '@freshet/protocol'
import { memberOf, type Scope } from './condition.js'
import { type Claims, Decision, type Row } from './decision.js'
import { anyOf, type Demands, EVERY_ROW } from './demands.js'
import type { Quota } from './parse-quota.js'
import type { ParsedRules, Rule } from './parse-rules.js'
import { RIGHTS, type Right } from './rights.js'

/** Whether a caller without a token may do it: with every object of the bucket, with none, or depending on the object. */
export type Openness = 'always' | 'sometimes' | 'never'

interface RightsOfBucket {
  readonly rules: Readonly<Record<Right, readonly Rule['condition'][]>>
  readonly openness: Readonly<Record<Right, Openness>>
  /** The members of objects that the lines for a right look at. */
  readonly members: Readonly<Record<Right, readonly string[]>>
  /** For callers with a token, by its claims: dropped when the token is forgotten. */
  readonly decisions: WeakMap<Claims, Decisions>
  readonly anonymous: Decisions
}

type Decisions = Partial<Record<Right, Decision>>

/** Bounded, because bucket names come from requests. */
const BUCKETS_KEPT_MAX = 20_000
/** For all buckets and callers together. */
const DECISIONS_KEPT_MAX = 50_000
/** How many patterns of open buckets a head lists. */
const PATTERNS_MAX = 500

export class AccessRules {
  readonly #parsed: ParsedRules
  readonly #buckets = new Map<Key, RightsOfBucket>()
  #decisions = 0
  /** The version of the record that the rules come from; 0 if the store has none. */
  readonly version: Version

  constructor(parsed: ParsedRules, version: Version = 0) {
    this.#parsed = parsed
    this.version = version
  }

  get hasQuotas(): boolean {
    return this.#parsed.quotas.size > 0
  }

  /** Undefined if the namespace has no limits. */
  quotaOf(namespace: string): Quota | undefined {
    const { quotas } = this.#parsed
    if (quotas.size === 0 || namespace.startsWith('_')) return undefined
    return quotas.get(namespace) ?? quotas.get('*')
  }

  isAdmin(claims: Claims | undefined): boolean {
    if (claims === undefined) return false
    const scope: Scope = { claims, namespace: '', bucket: '', id: undefined }
    return this.#parsed.admin.some(({ test }) => test(scope))
  }

  /** Whether a caller with these claims may read `/metrics`. */
  mayMeasure(claims: Claims | undefined): boolean {
    const scope: Scope = { claims, namespace: '', bucket: '', id: undefined }
    return this.#parsed.metrics.some(({ test }) => test(scope)) || this.isAdmin(claims)
  }

  /** `key` is that of an object, or of a bucket if the right is to all of it. */
  allows(right: Right, claims: Claims | undefined, key: Key, row: Row = {}): boolean {
    return this.decide(right, claims, bucketOfKey(key)).allows(idOfKey(key), row)
  }

  /** Whether these claims would be allowed it for some object, whatever is stored now. */
  mightAllow(right: Right, claims: Claims | undefined, key: Key): boolean {
    return this.decide(right, claims, bucketOfKey(key)).mightAllow(idOfKey(key))
  }

  /** What these claims, known by their identity, may do with a bucket. */
  decide(right: Right, claims: Claims | undefined, bucket: Key): Decision {
    const rights = this.#rightsOf(bucket)
    const known = claims === undefined ? rights.anonymous : rights.decisions.get(claims)
    return known?.[right] ?? this.#decide(right, claims, bucket, rights)
  }

  #decide(right: Right, claims: Claims | undefined, bucketKey: Key, rights: RightsOfBucket): Decision {
    const decision = this.#decisionOf(right, claims, bucketKey, rights)
    if (claims === undefined) {
      rights.anonymous[right] = decision
      return decision
    }
    rights.decisions.set(claims, { ...rights.decisions.get(claims), [right]: decision })
    if (++this.#decisions >= DECISIONS_KEPT_MAX) this.#forget()
    return decision
  }

  #decisionOf(right: Right, claims: Claims | undefined, bucketKey: Key, rights: RightsOfBucket): Decision {
    const openness = rights.openness[right]
    if (openness === 'always' || this.isAdmin(claims)) return Decision.ALLOW
    const slash = bucketKey.indexOf('/')
    const namespace = bucketKey.slice(0, slash)
    // A token never takes away what a caller without one may do.
    const callers: (Claims | undefined)[] = openness === 'sometimes' ? [undefined] : []
    if (claims !== undefined && this.#isWithinWall(claims, namespace)) callers.push(claims)
    const [conditions, members] = [rights.rules[right], rights.members[right]]
    return Decision.of({ namespace, bucket: bucketKey.slice(slash + 1), conditions, callers, members })
  }

  #forget(): void {
    this.#buckets.clear()
    this.#decisions = 0
  }

  /** Whether these claims are allowed one of these rights for some object in some bucket, in this namespace if one is given. */
  mightAllowSomewhere(rights: readonly Right[], claims: Claims | undefined, namespace?: string): boolean {
    if (this.isAdmin(claims)) return true
    return this.#parsed.buckets.some(section => {
      if (namespace !== undefined && (section.namespace ?? namespace) !== namespace) return false
      const place = { namespace: section.namespace ?? namespace, bucket: section.bucket, id: undefined }
      const reaches = claims !== undefined && this.#reaches(claims, place.namespace)
      const mightHold = ({ condition: { whenAnonymous, testUnseen } }: Rule) =>
        whenAnonymous !== false || (reaches && testUnseen({ claims, ...place }) !== false)
      return section.rules.some(rule => rights.includes(rule.right) && mightHold(rule))
    })
  }

  /** Whether the wall lets these claims into this namespace, or into any at all. */
  #reaches(claims: Claims, namespace: string | undefined): boolean {
    if (namespace !== undefined) return this.#isWithinWall(claims, namespace)
    const { wall } = this.#parsed
    const named = wall && memberOf(claims, wall)
    return wall === undefined || typeof named === 'string' || (Array.isArray(named) && named.length > 0)
  }

  /**
   * The buckets in which everybody may do this with every object, as the sections name them. Incomplete if there are too many.
   */
  openPatterns(right: Right): readonly string[] {
    const isOpen = (rule: Rule) => rule.right === right && rule.condition.whenAnonymous === true
    const open = this.#parsed.buckets.filter(({ rules }) => rules.some(isOpen))
    const patterns = new Set(open.map(({ namespace = '*', bucket = '*' }) => `${namespace}/${bucket}`))
    return [...patterns].slice(0, PATTERNS_MAX)
  }

  openness(right: Right, bucket: Key): Openness {
    return this.#rightsOf(bucket).openness[right]
  }

  /** Whether the lists of a bucket are the same for everybody. */
  areListsOpen(bucket: Key): boolean {
    return this.openness('read', bucket) === 'always' && this.openness('list', bucket) === 'always'
  }

  /** Whether the decision depends on the objects, as they are or as they would be. */
  looksAt(right: Right, bucket: Key): boolean {
    return this.#rightsOf(bucket).rules[right].some(({ looksAt }) => looksAt.size > 0)
  }

  /** The objects of a bucket that a caller may read, in a form that an index can find; undefined if no index can. */
  visibleTo(claims: Claims | undefined, bucketKey: Key): Demands | undefined {
    const { rules, openness } = this.#rightsOf(bucketKey)
    if (openness.read === 'always' || this.isAdmin(claims)) return EVERY_ROW
    const [namespace = '', bucket = ''] = bucketKey.split('/')
    const callers = claims !== undefined && this.#isWithinWall(claims, namespace) ? [undefined, claims] : [undefined]
    return anyOf(
      rules.read.flatMap(condition =>
        callers.map(who => condition.demands({ claims: who, namespace, bucket, id: undefined })),
      ),
    )
  }

  #isWithinWall(claims: Claims, namespace: string): boolean {
    const { wall } = this.#parsed
    if (wall === undefined) return true
    const named = memberOf(claims, wall)
    return named === namespace || (Array.isArray(named) && named.includes(namespace))
  }

  #rightsOf(bucketKey: Key): RightsOfBucket {
    const known = this.#buckets.get(bucketKey)
    if (known !== undefined) return known
    const [namespace, bucket] = bucketKey.split('/')
    const rules = this.#parsed.buckets
      .filter(each => (each.namespace ?? namespace) === namespace && (each.bucket ?? bucket) === bucket)
      .flatMap(each => each.rules)
    const conditionsOf = (right: Right) => rules.filter(rule => rule.right === right).map(rule => rule.condition)
    // No rule applies to the server's own buckets.
    const isOurs = bucketKey.startsWith('_')
    const found: RightsOfBucket = {
      rules: eachRight(right => (isOurs ? [] : conditionsOf(right))),
      openness: eachRight(right => (isOurs ? 'never' : opennessOf(conditionsOf(right)))),
      members: eachRight(right => [...new Set(conditionsOf(right).flatMap(({ members }) => [...members]))]),
      decisions: new WeakMap(),
      anonymous: {},
    }
    if (this.#buckets.size >= BUCKETS_KEPT_MAX) this.#forget()
    this.#buckets.set(bucketKey, found)
    return found
  }
}

function eachRight<Value>(make: (right: Right) => Value): Readonly<Record<Right, Value>> {
  return Object.fromEntries(RIGHTS.map(right => [right, make(right)])) as Record<Right, Value>
}

function opennessOf(conditions: readonly Rule['condition'][]): Openness {
  if (conditions.some(({ whenAnonymous }) => whenAnonymous === true)) return 'always'
  return conditions.some(({ whenAnonymous }) => whenAnonymous === undefined) ? 'sometimes' : 'never'
}
