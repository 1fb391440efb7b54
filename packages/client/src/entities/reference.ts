/**
 * One entity's reference to another, which is loaded when it is asked for: `await order.customer.get()`.
 *
 * It is no thenable, though `await order.customer` would be shorter: whatever passes through a promise is unwrapped, so
 * an async function that returns an order's reference would load the customer unasked, and no promise could ever hold
 * the reference itself.
 */
import type { ReadOptions } from '../reading/read-options.js'
import type { Declaration } from './declaration.js'
import { recordOf } from './entity-record.js'

/** What it refers to, by name. */
export interface ReferenceTarget {
  readonly declaration: Declaration
  readonly id: string
}

export interface Link<T> extends ReferenceTarget {
  readonly load: (options: ReadOptions) => Promise<T | undefined>
}

/** One entity's reference to another, which is loaded when it is asked for: `await order.customer.get()`. */
export class Reference<T extends object> {
  readonly #link: Link<T> | undefined
  readonly #entity: T | undefined

  private constructor(link: Link<T> | undefined, entity: T | undefined) {
    this.#link = link
    this.#entity = entity
  }

  /** To an entity at hand, which may be new: its id is needed only when the reference is written. */
  static to<T extends object>(entity: T): Reference<T> {
    return new Reference<T>(undefined, entity)
  }

  /** To what has this name. Programs use `em.reference(Type, id)`. */
  static by<T extends object>(link: Link<T>): Reference<T> {
    return new Reference<T>(link, undefined)
  }

  /** The entity at hand that it was made of, if it was. */
  static entityOf<T extends object>(reference: Reference<T>): T | undefined {
    return reference.#entity
  }

  /** Throws TypeError if that is an entity that was never persisted, and so has no id. */
  static targetOf(reference: Reference<object>): ReferenceTarget {
    const target = reference.#link ?? (reference.#entity && recordOf(reference.#entity))
    if (target) return target
    throw new TypeError('This refers to an entity that has no id yet. Persist that first: await em.persist(entity).')
  }

  /** The id of what it refers to. Throws TypeError if that is an entity that was never persisted, and so has none. */
  get id(): string {
    return Reference.targetOf(this).id
  }

  /** Loads it, or gives the one that is managed already; undefined if it is not there: nobody keeps it from being removed. */
  async get(options: ReadOptions = {}): Promise<T | undefined> {
    return this.#link === undefined ? this.#entity : this.#link.load(options)
  }

  /** As it is stored. */
  toJSON(): string {
    return this.id
  }
}
