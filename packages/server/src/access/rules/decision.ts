/**
 * What the rules come to for one caller, one right and one bucket. The conditions that depend neither on the object nor on its id have been
 * tried; what is left are those that do. One that is always or never true asks for no object at all.
 */
import type { Condition, Scope } from './condition.js'

export type Claims = Readonly<Record<string, unknown>>

/** What is known of the objects concerned; what a right does not look at need not be there. */
export interface Row {
  readonly object?: unknown
  readonly next?: unknown
}

/** Whom it is decided for, and about what. */
export interface DecidedFor {
  readonly namespace: string
  readonly bucket: string
  readonly conditions: readonly Condition[]
  /** The conditions are tried for each of these: undefined is a caller without a token. */
  readonly callers: readonly (Claims | undefined)[]
  /** The members of objects that the conditions look at: the same array for all callers. */
  readonly members: readonly string[]
}

interface Open {
  readonly claims: Claims | undefined
  readonly condition: Condition
}

const NOTHING: Row = {}

export class Decision {
  static readonly ALLOW: Decision = new Decision(true)
  readonly #namespace: string
  readonly #bucket: string
  readonly #open: readonly Open[]
  /** Whatever the object and its id: undefined if it depends on them. */
  readonly always: boolean | undefined
  /** The members of objects that it looks at. */
  readonly members: readonly string[]

  private constructor(always: boolean | undefined, open: readonly Open[] = [], about?: DecidedFor) {
    this.always = always
    this.#open = open
    this.#namespace = about?.namespace ?? ''
    this.#bucket = about?.bucket ?? ''
    this.members = about?.members ?? []
  }

  static of(about: DecidedFor): Decision {
    const { namespace, bucket, conditions, callers } = about
    const open: Open[] = []
    for (const claims of callers) {
      const scope: Scope = { claims, namespace, bucket, id: undefined }
      for (const condition of conditions) {
        const holds = condition.testUnseen(scope)
        if (holds === true) return Decision.ALLOW
        if (holds === undefined) open.push({ claims, condition })
      }
    }
    return new Decision(open.length === 0 ? false : undefined, open, about)
  }

  /** `id`: undefined where the right is to all of the bucket. */
  allows(id: string | undefined, row: Row): boolean {
    if (this.always !== undefined) return this.always
    for (const { claims, condition } of this.#open) {
      if (condition.test(new RowScope(claims, this.#namespace, this.#bucket, id, row))) return true
    }
    return false
  }

  /** Whether there is an object for which it is allowed, under this id. */
  mightAllow(id: string | undefined): boolean {
    if (this.always !== undefined) return this.always
    for (const { claims, condition } of this.#open) {
      if (condition.testUnseen(new RowScope(claims, this.#namespace, this.#bucket, id, NOTHING)) !== false) return true
    }
    return false
  }
}

/** The objects may be costly to look at, so they are when a condition does. */
class RowScope implements Scope {
  readonly claims: Claims | undefined
  readonly namespace: string
  readonly bucket: string
  readonly id: string | undefined
  readonly #row: Row

  constructor(claims: Claims | undefined, namespace: string, bucket: string, id: string | undefined, row: Row) {
    this.claims = claims
    this.namespace = namespace
    this.bucket = bucket
    this.id = id
    this.#row = row
  }

  get object(): unknown {
    return this.#row.object
  }

  get next(): unknown {
    return this.#row.next
  }
}
