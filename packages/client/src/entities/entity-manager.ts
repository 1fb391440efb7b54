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
 * `flush` writes everything that changed in one `POST /commit`, each object on condition that it is still the version that
 * was read. If one is not, nothing is written, and nothing changes here either: refresh what the error names, and flush
 * again. Every operation gives a promise, and they take effect in the order they were called (program-order.ts).
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
  /** How its reads are done, unless they say otherwise; default: as the database does them. */
  readonly read?: ReadMode
}

/** Under which id a new entity is stored. */
export interface PersistOptions {
  /** Its id; without, one is made, as the server would. */
  readonly id?: string
}

/**
 * A manager with nothing in it yet. Entities of one are the same objects however often they are found; those of another
 * are others.
 */
export function createEntityManager(db: Database, options: EntityManagerOptions = {}): EntityManager {
  return new EntityManager(db, databaseSource(db), options)
}

const newId = createIdMaker({
  nowMs: Date.now,
  randomBytes: count => crypto.getRandomValues(new Uint8Array(count)),
})

/**
 * JPA's EntityManager over the plain client: objects with an identity and a lifecycle instead of values. What changed
 * is written by `flush`, all of it or nothing.
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

  /** The entity with this id: always the same object, until it is detached. Undefined if it is not there, or removed. */
  async find<T extends object>(type: EntityClass<T>, id: string, options: ReadOptions = {}): Promise<T | undefined> {
    const [entity] = await this.findMany(type, [id], options)
    return entity
  }

  /** In the order asked for; those that are not managed yet are read in one request. */
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
   * What is stored in its bucket, by id, at most `limit`. Those that are managed come as they are, removed ones are left
   * out, and new ones that were not flushed are not in it.
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

  /** A reference to what has this id, without loading it, and whether it is there or not. */
  reference<T extends object>(type: EntityClass<T>, id: string): Reference<T> {
    return this.#refer(declarationOf(type), id) as Reference<T>
  }

  /** Makes a new or removed entity managed. It has its id when this is done; it is stored by the next flush. */
  async persist(entity: object, { id }: PersistOptions = {}): Promise<void> {
    return this.#change(() => this.#context.persist(entity, id))
  }

  /** The next flush deletes it, and what it cascades to, which is loaded for that. A new entity is left alone. */
  async remove(entity: object): Promise<void> {
    return this.#change(async () => {
      if (recordOf(entity) && !this.#context.own(entity)) {
        throw new TypeError(`${describe(entity)} is detached. Find it, or merge it, and remove what that returns.`)
      }
      this.#context.remove(await this.#reachRemoved(entity))
    })
  }

  /**
   * The managed entity that has now all the fields of this one, which itself stays detached. On top of the version that
   * the detached one had: if somebody has changed it since, the flush tells. Nothing is read.
   */
  async merge<T extends object>(entity: T): Promise<T> {
    return this.#change(() => this.#context.merge(entity) as T)
  }

  /** It is not managed any more; what was not flushed of it will not be. */
  async detach(entity: object): Promise<void> {
    return this.#change(() => this.#context.detach(entity))
  }

  /** Detaches everything. */
  async clear(): Promise<void> {
    return this.#change(() => this.#context.clear())
  }

  /** Makes its fields what is stored now. Throws OBJECT_NOT_FOUND if nothing is. */
  async refresh(entity: object, options: ReadOptions = {}): Promise<void> {
    return this.#change(async () => {
      const { declaration, id } = this.#context.managed(entity)
      const [loaded] = await this.#source.getMany(declaration.bucket, [id], { read: 'current', ...options })
      if (loaded === undefined) throw notThere(entity)
      this.#context.reload(entity, loaded)
    })
  }

  /** The next flush fails, too, if somebody has changed this entity, though it is not changed here. */
  async lock(entity: object): Promise<void> {
    return this.#change(() => this.#context.lock(entity))
  }

  /** Whether it is managed: the next flush writes what has changed of it. */
  async contains(entity: object): Promise<boolean> {
    return this.#read(noLoad, () => this.#context.isManaged(entity))
  }

  /**
   * Writes all that changed, or nothing: then it throws COMMIT_CONFLICT, with the outdated ones in `details.entities`. What
   * is changed while it is under way is left for the next one. In a transaction, it is written when that commits.
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
   * Runs `work` with a manager of its own, flushes that, and commits, if everything that was read still holds; else runs it
   * again with a new one, so that every attempt loads its entities anew. Afterwards they are detached; those that the
   * failed attempts persisted are new again.
   *
   * It begins when what was called on this manager before is done. What is called on it later does not wait for it: if it
   * did, work that awaits something of this manager would wait for itself.
   */
  async transaction<Result>(
    work: (em: EntityManager) => Promise<Result>,
    options: TransactOptions = {},
  ): Promise<Result> {
    const db = this.#db
    if (db === undefined)
      throw new TypeError('This is a transaction already. Do all of it in the one that is under way.')
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

  /** What it staged is stored at that position, or not at all. */
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
      'The transaction of this manager has ended. Await everything it does before that, or use the manager outside.',
    )
  }

  /** Those of them that are not here yet. */
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

  /** It and all that it cascades to, loaded: what is to be removed must be known, with its version and its own references. */
  async #reachRemoved(entity: object): Promise<Set<object>> {
    const reached = new Set([entity])
    // A set goes on to what is added to it.
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

  /** A conflict of paths as one of entities. */
  #named(error: unknown): unknown {
    if (!(error instanceof FreshetError) || error.code !== 'COMMIT_CONFLICT') return error
    const { conflicts } = error.details
    const paths = (Array.isArray(conflicts) ? conflicts : []).map(({ path }: { path?: unknown }) => String(path))
    const entities = paths.flatMap(path => this.#context.entityAtPath(path) ?? [])
    return new FreshetError(
      'COMMIT_CONFLICT',
      `Nothing was flushed: ${entities.map(describe).join(', ')} changed since it was read. Refresh what details.entities ` +
        'has, decide anew, and flush again.',
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
    `There is no ${describe(entity)} any more, or not yet. Detach the entity, or flush it if it is new.`,
  )
}
