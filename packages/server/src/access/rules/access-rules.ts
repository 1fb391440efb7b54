/** What the rules come to: who may do what with which bucket. Looked up once for each bucket, and then at hand. */
import { bucketOfKey, idOfKey, type Key, type Version } from '@freshet/protocol'
import { memberOf, type Scope } from './condition.js'
import { anyOf, type Demands, EVERY_ROW } from './demands.js'
import type { Quota } from './parse-quota.js'
import type { ParsedRules, Rule } from './parse-rules.js'
import { RIGHTS, type Right } from './rights.js'

/** Whether somebody without a token may do it: with everything in the bucket, with nothing in it, or it depends. */
export type Openness = 'always' | 'sometimes' | 'never'

export type Claims = Readonly<Record<string, unknown>>

/** What is known of the objects concerned; what a right does not look at need not be there. */
export interface Row {
  readonly object?: unknown
  readonly next?: unknown
}

interface RightsOfBucket {
  readonly rules: Readonly<Record<Right, readonly Rule['condition'][]>>
  readonly openness: Readonly<Record<Right, Openness>>
}

/** Names come from requests. */
const BUCKETS_KEPT_MAX = 20_000
/** So many are sent with a head. */
const PATTERNS_MAX = 500

export class AccessRules {
  readonly #parsed: ParsedRules
  readonly #buckets = new Map<Key, RightsOfBucket>()
  /** Of the record that they are from; 0 if there is none. */
  readonly version: Version

  constructor(parsed: ParsedRules, version: Version = 0) {
    this.#parsed = parsed
    this.version = version
  }

  get hasQuotas(): boolean {
    return this.#parsed.quotas.size > 0
  }

  /** Undefined if it may have as much as it likes. */
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

  /** Whether they may read `/metrics`. */
  mayMeasure(claims: Claims | undefined): boolean {
    const scope: Scope = { claims, namespace: '', bucket: '', id: undefined }
    return this.#parsed.metrics.some(({ test }) => test(scope)) || this.isAdmin(claims)
  }

  /** `key` is that of an object, or of a bucket where the right is to all of it. */
  allows(right: Right, claims: Claims | undefined, key: Key, row: Row = {}): boolean {
    return this.#allows(right, claims, key, row, ({ test }, scope) => test(scope))
  }

  /** Whether there is an object for which these claims are allowed it, whatever is there now. */
  mightAllow(right: Right, claims: Claims | undefined, key: Key): boolean {
    return this.#allows(right, claims, key, {}, ({ testUnseen }, scope) => testUnseen(scope) !== false)
  }

  /** Whether there are an object and a bucket, in this namespace if one is given, for which these claims are allowed one of these. */
  mightAllowSomewhere(rights: readonly Right[], claims: Claims | undefined, namespace?: string): boolean {
    if (this.isAdmin(claims)) return true
    return this.#parsed.buckets.some(section => {
      if (namespace !== undefined && (section.namespace ?? namespace) !== namespace) return false
      const place = { namespace: section.namespace ?? namespace, bucket: section.bucket, id: undefined }
      const reaches = claims !== undefined && this.#reaches(claims, place.namespace)
      const mightHold = ({ condition: { whenAnonymous, testUnseen } }: Rule) =>
        whenAnonymous !== false || (reaches && testUnseen(scopeOf(claims, place, {})) !== false)
      return section.rules.some(rule => rights.includes(rule.right) && mightHold(rule))
    })
  }

  /** Whether the wall lets them into this namespace, or into any at all. */
  #reaches(claims: Claims, namespace: string | undefined): boolean {
    if (namespace !== undefined) return this.#isWithinWall(claims, namespace)
    const { wall } = this.#parsed
    const named = wall && memberOf(claims, wall)
    return wall === undefined || typeof named === 'string' || (Array.isArray(named) && named.length > 0)
  }

  #allows(
    right: Right,
    claims: Claims | undefined,
    key: Key,
    row: Row,
    holds: (condition: Rule['condition'], scope: Scope) => boolean,
  ): boolean {
    const bucketKey = bucketOfKey(key)
    const { rules, openness } = this.#rightsOf(bucketKey)
    if (openness[right] === 'always') return true
    const slash = bucketKey.indexOf('/')
    const namespace = bucketKey.slice(0, slash)
    const bucket = bucketKey.slice(slash + 1)
    const holdsFor = (who: Claims | undefined) => {
      const scope = scopeOf(who, { namespace, bucket, id: idOfKey(key) }, row)
      return rules[right].some(condition => holds(condition, scope))
    }
    // What anyone may do, a token does not take away.
    if (openness[right] === 'sometimes' && holdsFor(undefined)) return true
    if (claims === undefined) return false
    return (this.#isWithinWall(claims, namespace) && holdsFor(claims)) || this.isAdmin(claims)
  }

  /** The buckets where everybody may do this with every object, as the sections name them; not all, if there are too many. */
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

  /** Whether what is allowed depends on the objects themselves, as they are or would be. */
  looksAt(right: Right, bucket: Key): boolean {
    return this.#rightsOf(bucket).rules[right].some(({ looksAt }) => looksAt.size > 0)
  }

  /** Which objects of a bucket a caller may read, as an index can find them; undefined where no index can. */
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
    // Nothing of ours is reached by any rule.
    const isOurs = bucketKey.startsWith('_')
    const found: RightsOfBucket = {
      rules: eachRight(right => (isOurs ? [] : conditionsOf(right))),
      openness: eachRight(right => (isOurs ? 'never' : opennessOf(conditionsOf(right)))),
    }
    if (this.#buckets.size >= BUCKETS_KEPT_MAX) this.#buckets.clear()
    this.#buckets.set(bucketKey, found)
    return found
  }
}

/** The objects may be costly to look at, so they are when a condition does. */
function scopeOf(
  claims: Claims | undefined,
  { namespace, bucket, id }: Pick<Scope, 'namespace' | 'bucket' | 'id'>,
  row: Row,
): Scope {
  return {
    ...{ claims, namespace, bucket, id },
    get object() {
      return row.object
    },
    get next() {
      return row.next
    },
  }
}

function eachRight<Value>(make: (right: Right) => Value): Readonly<Record<Right, Value>> {
  return Object.fromEntries(RIGHTS.map(right => [right, make(right)])) as Record<Right, Value>
}

function opennessOf(conditions: readonly Rule['condition'][]): Openness {
  if (conditions.some(({ whenAnonymous }) => whenAnonymous === true)) return 'always'
  return conditions.some(({ whenAnonymous }) => whenAnonymous === undefined) ? 'sometimes' : 'never'
}
