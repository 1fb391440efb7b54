/**
 * JPA's EntityManager over the plain client: objects with an identity and a lifecycle instead of values.
 *
 *              persist              find, list, merge
 *       new ------------> managed <------------------ stored
 *                          |   ^ |
 *                   remove |   | | detach, clear
 *                          v   | v
 *                      removed  detached
 *
 * `flush` writes everything that changed in one `POST /commit`, each object on condition that it still has the version that was
 * read. If one has not, nothing is written, and nothing changes here either: refresh what the error names, and flush again. Every
 * operation returns a promise, and operations take effect in the order they were called (program-order.ts).
 */
import type { ReadMode } from '@freshet/core/coherence'
import { createIdMaker, FreshetError, type Position } from '@freshet/protocol'
import type { ListOptions } from '../buckets/bucket.js'
import type { Database, TransactOptions } from '../database.js'
import { mergePatchOf } from '../json/merge-patch.js'
import type { ReadOptions } from '../reading/read-options.js'
import type { Transaction } from '../transactions/transaction.js'
import { type Declaration, declarationOf, type EntityClass } from './declaration.js'
import { type EntityRecord, recordOf } from './entity-record.js'
import {
  databaseSource,
  type EntitySource,
  type FlushOptions,
  type Loaded,
  transactionSource,
} from './entity-source.js'
import { cascadingReferences, describe, PersistenceContext, type PlannedWrite } from './persistence-context.js'
import { ProgramOrder } from './program-order.js'
import { Reference } from './reference.js'

/** How a manager reads what it loads. */
export interface EntityManagerOptions {
  /** The default mode of its reads; default: that of the database. */
  readonly read?: ReadMode
}

/** Options of `persist`. */
export interface PersistOptions {
  /** The id of the new entity; default: a new one, as the server generates them. */
  readonly id?: string
}

/**
 * Creates a manager without entities. Finding an entity again returns the same object; another manager returns its own
 * objects.
 *
 * @example
 * import { connect } from '@freshet/client'
 * import { createEntityManager, entity } from '@freshet/client/entities'
 *
 * const Roaster = entity<{ name: string; city: string }>('shop/roasters')
 * const db = await connect('http://localhost:7700')
 * const em = createEntityManager(db)
 * await em.persist(new Roaster({ name: 'Ann', city: 'Kingston' }), { id: 'ann' })
 * await em.flush()
 *
 * const ann = await em.find(Roaster, 'ann')
 * console.log(ann?.city, ann === (await em.find(Roaster, 'ann'))) // Kingston true
 * db.close()
 */
export function createEntityManager(db: Database, options: EntityManagerOptions = {}): EntityManager {
  return new EntityManager(db, databaseSource(db), options)
}

const newId = createIdMaker({
  nowMs: Date.now,
  randomBytes: count => crypto.getRandomValues(new Uint8Array(count)),
})

/**
 * JPA's EntityManager over the plain client: objects with an identity and a lifecycle instead of values. `flush` writes all
 * changes, or none.
 */
export class EntityManager {
  /** Undefined inside of a transaction. */
  readonly #db: Database | undefined
  readonly #source: EntitySource
  readonly #options: EntityManagerOptions
  readonly #order = new ProgramOrder()
  readonly #context = new PersistenceContext(newId, (declaration, id) => this.#refer(declaration, id))
  #isEnded = false

  /** Use createEntityManager(db). */
  constructor(db: Database | undefined, source: EntitySource, options: EntityManagerOptions) {
    this.#db = db
    this.#source = source
    this.#options = options
  }

  /**
   * The entity with this id: always the same object, until it is detached. Undefined if it does not exist or was removed.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * if (coffee) coffee.price = 5 // the next flush writes it
   * await em.flush()
   * console.log((await db.bucket('shop/coffees').get('finest'))?.price) // 5
   */
  async find<T extends object>(type: EntityClass<T>, id: string, options: ReadOptions = {}): Promise<T | undefined> {
    const [entity] = await this.findMany(type, [id], options)
    return entity
  }

  /**
   * Finds several entities, in the order of `ids`; those that are not managed yet are read in one request.
   *
   * @example
   * const [finest, unknown] = await em.findMany(Coffee, ['finest', 'unknown'])
   * console.log(finest?.name, unknown) // Arabica Finest undefined
   */
  async findMany<T extends object>(
    type: EntityClass<T>,
    ids: readonly string[],
    options: ReadOptions = {},
  ): Promise<(T | undefined)[]> {
    const declaration = declarationOf(type)
    return this.#read(
      () => this.#load(declaration, ids, options),
      loaded => this.#take(declaration, ids, loaded) as (T | undefined)[],
    )
  }

  /**
   * The stored entities of the class's bucket, in the order of their ids, at most `limit`. Managed entities are returned as they
   * are, removed ones are left out, and new ones that were not flushed are not included.
   *
   * @example
   * const coffees = await em.list(Coffee, { limit: 10 })
   * console.log(coffees.map(({ name }) => name)) // [ 'Arabica', 'Arabica Finest' ]
   */
  async list<T extends object>(type: EntityClass<T>, options: ListOptions = {}): Promise<T[]> {
    const declaration = declarationOf(type)
    return this.#read(
      () => this.#source.list(declaration.bucket, { ...this.#options, ...options }),
      found => {
        const entities = found.map(loaded => this.#context.adopt(declaration, loaded))
        return entities.filter(entity => this.#context.isManaged(entity)) as T[]
      },
    )
  }

  /**
   * A reference to the entity with this id, without loading it or checking that it exists.
   *
   * @example
   * const selection = new Coffee('Selection', 6, em.reference(Coffee, 'arabica'))
   * await em.persist(selection)
   * await em.flush()
   * console.log((await selection.parent?.get())?.name) // Arabica
   */
  reference<T extends object>(type: EntityClass<T>, id: string): Reference<T> {
    return this.#refer(declarationOf(type), id) as Reference<T>
  }

  /**
   * Makes a new or removed entity managed. It has its id when this resolves; the next flush stores it.
   *
   * @example
   * await em.persist(new Coffee('Robusta', 3, null), { id: 'robusta' })
   * await em.flush()
   * console.log((await db.bucket('shop/coffees').get('robusta'))?.name) // Robusta
   */
  async persist(entity: object, { id }: PersistOptions = {}): Promise<void> {
    return this.#change(() => this.#context.persist(entity, id))
  }

  /**
   * Marks an entity as removed: the next flush deletes it, and the entities it cascades to, which are loaded for that. A new
   * entity is left alone.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * if (coffee) await em.remove(coffee)
   * await em.flush()
   * console.log(await db.bucket('shop/coffees').get('finest')) // undefined
   */
  async remove(entity: object): Promise<void> {
    return this.#change(async () => {
      if (recordOf(entity) && !this.#context.own(entity)) {
        throw new TypeError(
          `${describe(entity)} is detached. Find it or merge it, and remove the entity which that returns.`,
        )
      }
      this.#context.remove(await this.#reachRemoved(entity))
    })
  }

  /**
   * Returns the managed entity, with all the fields of this one, which itself stays detached. The change builds on the version of
   * the detached entity: if another client has changed it since, the flush fails. Nothing is read.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * await em.clear() // the form on the page keeps the detached entity
   * if (coffee) {
   *   coffee.price = 5
   *   const managed = await em.merge(coffee)
   *   await em.flush()
   *   console.log(managed.price, managed === coffee) // 5 false
   * }
   */
  async merge<T extends object>(entity: T): Promise<T> {
    return this.#change(() => this.#context.merge(entity) as T)
  }

  /**
   * Stops managing an entity; its changes that were not flushed are not written.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * if (coffee) await em.detach(coffee)
   * console.log(coffee === (await em.find(Coffee, 'finest'))) // false
   */
  async detach(entity: object): Promise<void> {
    return this.#change(() => this.#context.detach(entity))
  }

  /**
   * Detaches everything. Changes that were not flushed are not written.
   *
   * @example
   * const before = await em.find(Coffee, 'finest')
   * await em.clear()
   * console.log(before === (await em.find(Coffee, 'finest'))) // false
   */
  async clear(): Promise<void> {
    return this.#change(() => this.#context.clear())
  }

  /**
   * Sets the entity's fields to what is stored now. Throws OBJECT_NOT_FOUND if nothing is stored.
   *
   * @example
   * const coffee = await em.find(Coffee, 'finest')
   * await db.bucket('shop/coffees').patch('finest', { price: 7 }) // another client
   * if (coffee) await em.refresh(coffee)
   * console.log(coffee?.price) // 7
   */
  async refresh(entity: object, options: ReadOptions = {}): Promise<void> {
    return this.#change(async () => {
      const { declaration, id } = this.#context.managed(entity)
      const [loaded] = await this.#source.getMany(declaration.bucket, [id], { read: 'current', ...options })
      if (loaded === undefined) throw notThere(entity)
      this.#context.reload(entity, loaded)
    })
  }

  /**
   * The next flush also fails if another client has changed this entity, even if it is not changed here.
   *
   * @example
   * const [arabica, finest] = await em.findMany(Coffee, ['arabica', 'finest'])
   * if (arabica && finest) {
   *   await em.lock(arabica) // the new price is right only if this one is still the same
   *   finest.price = 2 * arabica.price
   *   await em.flush()
   *   console.log(finest.price) // 6
   * }
   */
  async lock(entity: object): Promise<void> {
    return this.#change(() => this.#context.lock(entity))
  }

  /**
   * Whether the entity is managed: the next flush writes its changes.
   *
   * @example
   * const robusta = new Coffee('Robusta', 3, null)
   * console.log(await em.contains(robusta)) // false
   * await em.persist(robusta)
   * console.log(await em.contains(robusta)) // true
   */
  async contains(entity: object): Promise<boolean> {
    return this.#read(noLoad, () => this.#context.isManaged(entity))
  }

  /**
   * Writes all changes, or none: then it throws COMMIT_CONFLICT, with the outdated entities in `details.entities`. Changes made
   * while it is under way are left for the next flush. In a transaction, the changes are written when that commits.
   *
   * @example
   * import { FreshetError } from '@freshet/client'
   *
   * const coffee = await em.find(Coffee, 'finest')
   * await db.bucket('shop/coffees').patch('finest', { name: 'Selection' }) // another client
   * if (coffee) coffee.price = 5
   * try {
   *   await em.flush()
   * } catch (error) {
   *   if (!(error instanceof FreshetError) || error.code !== 'COMMIT_CONFLICT' || !coffee) throw error
   *   await em.refresh(coffee)
   *   coffee.price = 5
   *   await em.flush()
   * }
   * console.log(coffee?.name, coffee?.price) // Selection 5
   */
  async flush(options: FlushOptions = {}): Promise<void> {
    return this.#change(async () => {
      const writes = this.#context.plan()
      const position = await this.#write(writes, options)
      if (position === undefined) this.#context.stage(writes)
      else this.#context.settle(writes, position)
    })
  }

  /**
   * Runs `work` with a manager of its own, flushes that, and commits if everything that was read still holds; otherwise runs it
   * again with a new manager, so that every attempt loads its entities again. Afterwards they are detached; entities that failed
   * attempts persisted are new again.
   *
   * It begins when earlier calls on this manager are done. Later calls do not wait for it: if they did, work that awaits a call
   * on this manager would wait for itself.
   *
   * @example
   * await em.transaction(async em => {
   *   const coffee = await em.find(Coffee, 'finest')
   *   if (coffee) coffee.price += 1
   * })
   * console.log((await em.find(Coffee, 'finest'))?.price) // 5
   */
  async transaction<Result>(
    work: (em: EntityManager) => Promise<Result>,
    options: TransactOptions = {},
  ): Promise<Result> {
    const db = this.#db
    if (db === undefined)
      throw new TypeError('This manager already belongs to a transaction. Use this manager for everything in it.')
    await this.#change(() => undefined)
    let end = (_position: Position | undefined) => {}
    let committed: Transaction | undefined
    try {
      const result = await db.transaction(async tx => {
        end(undefined)
        const em = new EntityManager(undefined, transactionSource(tx), {})
        end = position => em.#end(position)
        const done = await work(em)
        await em.flush()
        committed = tx
        return done
      }, options)
      end(committed?.position)
      return result
    } catch (error) {
      end(undefined)
      throw error
    }
  }

  /** What the manager staged is stored at that position, or not at all. */
  #end(position: Position | undefined): void {
    this.#isEnded = true
    if (position !== undefined) this.#context.settle([], position)
    this.#context.clear()
  }

  #read<Loaded, Result>(load: () => Promise<Loaded>, take: (loaded: Loaded) => Result): Promise<Result> {
    return this.#order.read(
      () => this.#ifOpen(load),
      loaded => this.#ifOpen(() => take(loaded)),
    )
  }

  #change<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return this.#order.change(() => this.#ifOpen(work))
  }

  #ifOpen<Result>(work: () => Result): Result {
    if (!this.#isEnded) return work()
    throw new FreshetError(
      'TRANSACTION_ENDED',
      'The transaction of this manager has ended. Await all calls on it before that, or use the manager outside.',
    )
  }

  /** Loads the entities that are not here yet. */
  async #load(declaration: Declaration, ids: readonly string[], options: ReadOptions): Promise<(Loaded | undefined)[]> {
    const unknown = [...new Set(ids)].filter(id => this.#context.entityAt(declaration, id) === undefined)
    if (unknown.length === 0) return []
    return this.#source.getMany(declaration.bucket, unknown, { ...this.#options, ...options })
  }

  #take(
    declaration: Declaration,
    ids: readonly string[],
    found: readonly (Loaded | undefined)[],
  ): (object | undefined)[] {
    for (const loaded of found) if (loaded) this.#context.adopt(declaration, loaded)
    return ids.map(id => {
      const entity = this.#context.entityAt(declaration, id)
      return entity && this.#context.isManaged(entity) ? entity : undefined
    })
  }

  #refer(declaration: Declaration, id: string): Reference<object> {
    const load = (options: ReadOptions) => this.find(declaration.type, id, options)
    return Reference.by({ declaration, id, load })
  }

  /** The entity and all that it cascades to, loaded: to remove an entity, its version and its own references must be known. */
  async #reachRemoved(entity: object): Promise<Set<object>> {
    const reached = new Set([entity])
    // Iteration includes elements added to the set meanwhile.
    for (const each of reached) {
      const references = cascadingReferences(each, 'remove')
      const targets = await Promise.all(references.map(reference => this.#managedTarget(reference)))
      for (const target of targets) if (target) reached.add(target)
    }
    return reached
  }

  async #managedTarget(reference: Reference<object>): Promise<object | undefined> {
    const entity = Reference.entityOf(reference)
    if (entity && (recordOf(entity) === undefined || this.#context.own(entity))) return entity
    const { declaration, id } = Reference.targetOf(reference)
    const [found] = this.#take(declaration, [id], await this.#load(declaration, [id], {}))
    return found
  }

  async #write(writes: readonly PlannedWrite[], options: FlushOptions): Promise<Position | undefined> {
    const written = new Set(writes.map(({ record }) => record))
    const locked = this.#context.lockedRecords().filter(record => !written.has(record))
    try {
      return await this.#source.write(
        writes.map(({ record, stored }) => {
          const { declaration, id, version, isIdMade } = record
          return { bucket: declaration.bucket, id, version, isIdMade, value: stored, patch: patchOf(record, stored) }
        }),
        locked.map(({ declaration, id, version }) => ({ bucket: declaration.bucket, id, version })),
        options,
      )
    } catch (error) {
      throw this.#named(error)
    }
  }

  /** Turns a conflict of paths into a conflict of entities. */
  #named(error: unknown): unknown {
    if (!(error instanceof FreshetError) || error.code !== 'COMMIT_CONFLICT') return error
    const { conflicts } = error.details
    const paths = (Array.isArray(conflicts) ? conflicts : []).map(({ path }: { path?: unknown }) => String(path))
    const entities = paths.flatMap(path => this.#context.entityAtPath(path) ?? [])
    return new FreshetError(
      'COMMIT_CONFLICT',
      `Nothing was flushed: ${entities.map(describe).join(', ')} changed since it was read. Refresh the entities in ` +
        'details.entities, apply your change again, and flush.',
      { cause: error, details: { ...error.details, entities } },
    )
  }
}

function patchOf({ version, snapshot }: EntityRecord, stored: object | undefined): object | undefined {
  if (version === 0 || snapshot === null || stored === undefined) return undefined
  return mergePatchOf(JSON.parse(snapshot), stored as Record<string, unknown>)
}

async function noLoad(): Promise<void> {}

function notThere(entity: object): FreshetError {
  return new FreshetError(
    'OBJECT_NOT_FOUND',
    `${describe(entity)} is not stored (no longer, or not yet). Detach the entity, or flush it if it is new.`,
  )
}
