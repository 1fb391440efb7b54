/**
 * The rules, decided as far as possible for one caller, one right and one bucket. The conditions that depend on neither the
 * object nor its id have been evaluated; those that do are left. A decision that is always or never true needs no object.
 */
import type { Condition, Scope } from './condition.js'

export type Claims = Readonly<Record<string, unknown>>

/** What is known of the objects concerned. What the right does not look at may be missing. */
export interface Row {
  readonly object?: unknown
  readonly next?: unknown
}

/** The callers and the bucket that it is decided for. */
export interface DecidedFor {
  readonly namespace: string
  readonly bucket: string
  readonly conditions: readonly Condition[]
  /** The conditions are evaluated for each of these: undefined is a caller without a token. */
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
  /** The result for every object and id: undefined if it depends on them. */
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

  /** `id`: undefined if the right is to the whole bucket. */
  allows(id: string | undefined, row: Row): boolean {
    if (this.always !== undefined) return this.always
    for (const { claims, condition } of this.#open) {
      if (condition.test(new RowScope(claims, this.#namespace, this.#bucket, id, row))) return true
    }
    return false
  }

  /** Whether it would be allowed for some object under this id. */
  mightAllow(id: string | undefined): boolean {
    if (this.always !== undefined) return this.always
    for (const { claims, condition } of this.#open) {
      if (condition.testUnseen(new RowScope(claims, this.#namespace, this.#bucket, id, NOTHING)) !== false) return true
    }
    return false
  }
}

/** Reads the object only when a condition does, since that may be costly. */
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
