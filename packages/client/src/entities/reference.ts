/**
 * One entity's reference to another, which is loaded on demand: `await order.customer.get()`.
 *
 * It is not a thenable, although `await order.customer` would be shorter: promises unwrap thenables, so an async function that
 * returns an order's reference would load the customer without need, and no promise could ever hold the reference itself.
 */
import type { ReadOptions } from '../reading/read-options.js'
import type { Declaration } from './declaration.js'
import { recordOf } from './entity-record.js'

/** The target of a reference, by name. */
export interface ReferenceTarget {
  readonly declaration: Declaration
  readonly id: string
}

export interface Link<T> extends ReferenceTarget {
  readonly load: (options: ReadOptions) => Promise<T | undefined>
}

/** One entity's reference to another, which is loaded on demand: `await order.customer.get()`. */
export class Reference<T extends object> {
  readonly #link: Link<T> | undefined
  readonly #entity: T | undefined

  private constructor(link: Link<T> | undefined, entity: T | undefined) {
    this.#link = link
    this.#entity = entity
  }

  /**
   * A reference to an entity in memory, which may be new: its id is needed only when the reference is written.
   *
   * @example
   * import { Reference } from '@freshet/client/entities'
   *
   * const parent = new Coffee('Liberica', 4, null)
   * await em.persist(new Coffee('Liberica Finest', 8, Reference.to(parent))) // and its parent, by the cascade
   * await em.flush()
   */
  static to<T extends object>(entity: T): Reference<T> {
    return new Reference<T>(undefined, entity)
  }

  /** A reference by name. Programs use `em.reference(Type, id)`. @internal */
  static by<T extends object>(link: Link<T>): Reference<T> {
    return new Reference<T>(link, undefined)
  }

  /** The entity that the reference was made from, if any. @internal */
  static entityOf<T extends object>(reference: Reference<T>): T | undefined {
    return reference.#entity
  }

  /** Throws TypeError if the target was never persisted, and so has no id. @internal */
  static targetOf(reference: Reference<object>): ReferenceTarget {
    const target = reference.#link ?? (reference.#entity && recordOf(reference.#entity))
    if (target) return target
    throw new TypeError('This refers to an entity that has no id yet. Persist it first: await em.persist(entity).')
  }

  /** The id of the target. Throws TypeError if the target was never persisted, and so has no id. */
  get id(): string {
    return Reference.targetOf(this).id
  }

  /**
   * Loads the target, or returns the managed one; undefined if it does not exist: nothing prevents its removal.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * const parent = await coffee?.parent?.get()
   * console.log(parent?.name) // Arabica
   */
  async get(options: ReadOptions = {}): Promise<T | undefined> {
    return this.#link === undefined ? this.#entity : this.#link.load(options)
  }

  /**
   * The stored form: the id of the target.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * console.log(JSON.stringify(coffee)) // {"name":"Arabica Finest","price":4,"parent":"arabica"}
   */
  toJSON(): string {
    return this.id
  }
}
