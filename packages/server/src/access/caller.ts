/**
 * Who asks, and what they may do. A handler asks before it shows or changes anything; one that answers without having asked is a
 * mistake of ours, and its answer is not sent (`wasAsked`).
 */
import type { ReadVersion, StoredValue } from '@freshet/core/store'
import { bucketOfKey, FreshetError, type Key } from '@freshet/protocol'
import { LastingRefusal } from '../idempotency/idempotency.js'
import { ACCESS_KEY } from './access-record.js'
import type { AccessRules, Claims, Row } from './rules/access-rules.js'
import type { Right } from './rules/rights.js'

/** What may be kept of an answer that not everybody may see: nothing, by nobody. */
export const PRIVATE = 'private, no-store'

type Value = Pick<StoredValue, 'contentType' | 'body'>

export class Caller {
  readonly #current: () => AccessRules
  #rules: AccessRules
  /** Undefined: nobody in particular. */
  readonly claims: Claims | undefined
  wasAsked = false

  constructor(current: () => AccessRules, claims: Claims | undefined) {
    this.#current = current
    this.#rules = current()
    this.claims = claims
  }

  /** By these everything is decided until the next `decideAnew`. */
  get rules(): AccessRules {
    return this.#rules
  }

  /** For who has followed the log, or tries again: by the rules as they are now. */
  decideAnew(): void {
    this.#rules = this.#current()
  }

  /** Whether the rules are still those that everything was decided by. */
  get isUpToDate(): boolean {
    return this.#rules === this.#current()
  }

  /** What a commit that was decided by these rules relies on. */
  get rulesRead(): ReadVersion {
    return { key: ACCESS_KEY, version: this.#rules.version }
  }

  /** As the issuer of the token names them; empty for nobody in particular. */
  get subject(): string {
    const { iss = '', sub = '' } = this.claims ?? {}
    return this.claims === undefined ? '' : `${String(iss)} ${String(sub)}`
  }

  get isAdmin(): boolean {
    this.wasAsked = true
    return this.#rules.isAdmin(this.claims)
  }

  may(right: Right, key: Key, object?: Value, next?: Value): boolean {
    this.wasAsked = true
    return this.#rules.allows(right, this.claims, key, rowOf(object, next))
  }

  /** Throws UNAUTHENTICATED or FORBIDDEN, which tell nothing of what is there. */
  check(right: Right, key: Key, object?: Value, next?: Value): void {
    if (!this.may(right, key, object, next)) throw this.refusal()
  }

  checkAdmin(): void {
    if (!this.isAdmin) throw this.refusal()
  }

  checkMetrics(): void {
    this.wasAsked = true
    if (!this.#rules.mayMeasure(this.claims)) throw this.refusal()
  }

  /** Whether somebody without a token may do it, too. */
  isOpen(right: Right, key: Key, object?: Value): boolean {
    this.wasAsked = true
    return this.#rules.allows(right, undefined, key, rowOf(object, undefined))
  }

  /** Whether the lists of a bucket are the same for everybody, so that caches may keep them. */
  seesWhatAllSee(bucket: Key): boolean {
    return this.#rules.openness('read', bucket) === 'always' && this.#rules.openness('list', bucket) === 'always'
  }

  /** Whether each object of a bucket has to be asked about. */
  isByRow(bucket: Key): boolean {
    return this.#rules.isByRow('read', bucket)
  }

  /** Whether it depends on the object as it is: then it must still be that when it is written. */
  looksAt(right: Right, key: Key): boolean {
    return this.#rules.looksAt(right, bucketOfKey(key))
  }

  /** A token changes nothing for who has none, so there is nothing to remember of it. */
  refusal(): FreshetError {
    if (this.claims === undefined) {
      return new LastingRefusal('UNAUTHENTICATED', 'This needs a token: send "Authorization: Bearer ...".', {
        details: { challenge: 'Bearer' },
      })
    }
    return new FreshetError('FORBIDDEN', 'The rules of this server do not let the bearer of this token do this.')
  }
}

/** Parsed when it is looked at, once. */
function rowOf(object: Value | undefined, next: Value | undefined): Row {
  let [objectSeen, nextSeen]: { value: unknown }[] = []
  return {
    get object() {
      objectSeen ??= { value: object && parsed(object) }
      return objectSeen.value
    },
    get next() {
      nextSeen ??= { value: next && parsed(next) }
      return nextSeen.value
    },
  }
}

/** Bytes have no fields. */
function parsed({ contentType, body }: Value): unknown {
  if (!/^application\/json\b/.test(contentType)) return undefined
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString())
  } catch {
    return undefined
  }
}
