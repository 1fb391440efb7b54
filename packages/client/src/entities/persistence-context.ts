/**
 * The entities of one manager: which objects they are (one for each stored object: the identity map), which state each is in, and
 * what a flush has to write. It reads and sends nothing.
 *
 * Changes are found by comparing: for each entity, the text that was loaded or written is kept, and a flush makes the text
 * again. Proxies would notice a change when it is made. But then `this` inside the entity's methods and the object outside would
 * differ, private fields would fail, embedded values would need proxies of their own, and the object made by `new` would not be
 * the one that the manager hands out. Comparing makes each flush serialise all managed entities: a manager is for a few
 * thousand.
 *
 * No operation is left half done: it first finds out everything it would do, calls the hooks, which may throw, and only then
 * changes states.
 */
import {
  checkId,
  FreshetError,
  type Key,
  objectKey,
  type Path,
  type Position,
  parseBucketName,
  pathOfKey,
  type Version,
} from '@freshet/protocol'
import { type Cascade, callHook, type Declaration, declarationOfEntity } from './declaration.js'
import { copyFields, type Refer, referencesIn, setFields, toStored } from './entity-json.js'
import { type EntityRecord, forgetRecord, recordOf, setRecord } from './entity-record.js'
import type { Loaded } from './entity-source.js'
import { Reference } from './reference.js'

/** One object that a flush writes; if `stored` is undefined, the flush deletes it. */
export interface PlannedWrite {
  readonly record: EntityRecord
  readonly stored: object | undefined
  readonly text: string | null
}

export class PersistenceContext {
  readonly #entities = new Map<Key, object>()
  readonly #locked = new Set<object>()
  readonly #newId: () => string
  readonly #refer: Refer

  constructor(newId: () => string, refer: Refer) {
    this.#newId = newId
    this.#refer = refer
  }

  /** The entity with that id, managed or removed. */
  entityAt(declaration: Declaration, id: string): object | undefined {
    return this.#entities.get(keyOf(declaration, id))
  }

  entityAtPath(path: Path): object | undefined {
    for (const [key, entity] of this.#entities) if (pathOfKey(key) === path) return entity
    return undefined
  }

  /** The entity's record, if the entity belongs to this context, managed or removed. */
  own(entity: object): EntityRecord | undefined {
    const record = recordOf(entity)
    return record?.context === this ? record : undefined
  }

  isManaged(entity: object): boolean {
    return this.own(entity)?.isRemoved === false
  }

  /** Throws TypeError unless the entity is managed here. */
  managed(entity: object): EntityRecord {
    const record = this.own(entity)
    if (record && !record.isRemoved) return record
    const state = this.#stateOf(entity)
    throw new TypeError(`${describe(entity)} is ${state}, so it is not managed here. ${TO_MANAGE[state]}`)
  }

  /** The entity for a loaded object: the existing one, unchanged, or a new one. */
  adopt(declaration: Declaration, loaded: Loaded): object {
    const known = this.entityAt(declaration, loaded.id)
    if (known) return known
    const entity = Object.create(declaration.type.prototype) as object
    const record = this.#newRecord(declaration, loaded.id, false)
    this.#load(entity, record, loaded)
    callHook(declaration, 'afterLoad', entity)
    this.#add(entity, record)
    return entity
  }

  /** Sets the entity's fields to what is stored. */
  reload(entity: object, loaded: Loaded): void {
    const record = this.managed(entity)
    this.#load(entity, record, loaded)
    callHook(record.declaration, 'afterLoad', entity)
  }

  /** Makes a new or removed entity managed, with the new ones that it cascades to. */
  persist(entity: object, id?: string): void {
    const record = recordOf(entity)
    if (record && record.context !== this) {
      throw new TypeError(`${describe(entity)} is detached. Use em.merge(entity), which returns the managed one.`)
    }
    if (id !== undefined) this.#checkGiven(entity, id)
    const reached = new Map([[entity, record ?? this.#firstRecord(entity, id)]])
    this.#reachNew(reached)
    for (const [each, itsRecord] of reached) this.#add(each, itsRecord)
  }

  /** Marks these entities as removed. New ones are left alone. */
  remove(entities: ReadonlySet<object>): void {
    const managed = [...entities].filter(entity => this.isManaged(entity))
    for (const entity of managed) callHook(this.managed(entity).declaration, 'beforeRemove', entity)
    for (const entity of managed) this.managed(entity).isRemoved = true
  }

  /** Returns the managed entity, with the fields of this one. */
  merge(entity: object): object {
    const declaration = declarationOfEntity(entity)
    const record = recordOf(entity)
    if (record?.context === this) {
      this.managed(entity)
      return entity
    }
    const copy = Object.create(declaration.type.prototype) as object
    copyFields(declaration, entity, copy)
    if (record === undefined || record.version === 0) {
      this.persist(copy)
      return copy
    }
    return this.#mergeStored(copy, record)
  }

  /** Forgets what was not flushed. An entity that is not stored is new again. */
  detach(entity: object): void {
    const record = this.own(entity)
    if (record === undefined) return
    this.#entities.delete(keyOf(record.declaration, record.id))
    this.#locked.delete(entity)
    release(entity, record)
  }

  clear(): void {
    for (const entity of [...this.#entities.values()]) this.detach(entity)
  }

  /** The next flush fails if the entity has changed in the store, even if this manager does not change it. */
  lock(entity: object): void {
    this.managed(entity)
    this.#locked.add(entity)
  }

  lockedRecords(): EntityRecord[] {
    return [...this.#locked].map(entity => this.own(entity)!).filter(({ version }) => version !== 0)
  }

  /**
   * The entities that differ from what is stored. New ones that managed ones cascade to become managed now, as if just persisted.
   */
  plan(): PlannedWrite[] {
    const reached = new Map([...this.#all()].filter(([, { isRemoved }]) => !isRemoved))
    this.#reachNew(reached)
    for (const [entity, record] of reached) this.#add(entity, record)
    return [...this.#all()].flatMap(([entity, record]) => planned(entity, record))
  }

  /** Records writes that were passed to a transaction; whether they are stored shows at its end. */
  stage(writes: readonly PlannedWrite[]): void {
    for (const { record, text } of writes) record.staged = text
  }

  /**
   * Records that these writes, and the staged ones, are stored at that position. Changes made meanwhile still count as changes.
   */
  settle(writes: readonly PlannedWrite[], position: Position): void {
    this.stage(writes)
    for (const [entity, record] of [...this.#all()]) {
      if (record.staged !== undefined) record.snapshot = record.staged
      if (record.staged !== undefined || record.version === 0) record.version = position
      record.staged = undefined
      if (!record.isRemoved) continue
      this.#entities.delete(keyOf(record.declaration, record.id))
      forgetRecord(entity)
    }
    this.#locked.clear()
  }

  *#all(): Generator<[object, EntityRecord]> {
    for (const entity of this.#entities.values()) yield [entity, this.own(entity)!]
  }

  /**
   * Adds the new entities that these cascade to, and calls their hooks. Iteration includes entries added to the map meanwhile.
   */
  #reachNew(reached: Map<object, EntityRecord>): void {
    for (const [entity] of reached) {
      for (const held of entitiesIn(entity, 'persist')) {
        if (reached.has(held) || (recordOf(held) !== undefined && !this.isManaged(held))) continue
        reached.set(held, recordOf(held) ?? this.#firstRecord(held))
      }
    }
  }

  #firstRecord(entity: object, id?: string): EntityRecord {
    const declaration = declarationOfEntity(entity)
    callHook(declaration, 'beforePersist', entity)
    return this.#newRecord(declaration, id ?? this.#newId(), id === undefined)
  }

  /** A new entity with the id of one that is removed but not deleted yet replaces what is stored. */
  #newRecord(declaration: Declaration, id: string, isIdMade: boolean): EntityRecord {
    const replaced = recordOf(this.entityAt(declaration, id) ?? {})
    const { version = 0, snapshot = null, staged = undefined } = replaced ?? {}
    return { declaration, id, isIdMade, context: undefined, isRemoved: false, version, snapshot, staged }
  }

  #add(entity: object, record: EntityRecord): void {
    const key = keyOf(record.declaration, record.id)
    const replaced = this.#entities.get(key)
    if (replaced && replaced !== entity) {
      // Hooks are called in the order in which entities were added, and this one comes last.
      this.#entities.delete(key)
      this.#locked.delete(replaced)
      forgetRecord(replaced)
    }
    this.#entities.set(key, entity)
    record.context = this
    record.isRemoved = false
    setRecord(entity, record)
  }

  #load(entity: object, record: EntityRecord, { value, version }: Loaded): void {
    setFields(record.declaration, entity, value, this.#refer)
    // What a transaction will write says nothing about what is stored.
    if (version === 0 && record.staged !== undefined) return
    record.version = version
    record.snapshot = JSON.stringify(value)
  }

  #mergeStored(copy: object, { declaration, id, isIdMade, version, snapshot }: EntityRecord): object {
    const known = this.entityAt(declaration, id)
    if (known === undefined) {
      this.#add(copy, { ...this.#newRecord(declaration, id, isIdMade), version, snapshot })
      return copy
    }
    if (this.managed(known).version !== version) throw otherVersion(known, version)
    copyFields(declaration, copy, known)
    return known
  }

  #checkGiven(entity: object, id: string): void {
    checkId(id)
    const known = this.entityAt(declarationOfEntity(entity), id)
    const itsId = recordOf(entity)?.id ?? id
    if (itsId !== id)
      throw new TypeError(`${describe(entity)} already has an id; it cannot become ${id}. Leave out the id.`)
    if (known && known !== entity && this.isManaged(known)) {
      throw new TypeError(
        `Another entity is already managed here as ${describe(known)}. Change that one, or remove it first.`,
      )
    }
  }

  #stateOf(entity: object): keyof typeof TO_MANAGE {
    const record = recordOf(entity)
    if (record === undefined) return 'new'
    return record.context === this && record.isRemoved ? 'removed' : 'detached'
  }
}

const TO_MANAGE = {
  new: 'Call em.persist(entity) first.',
  removed: 'Call em.persist(entity) to keep it.',
  detached: 'Use the entity that em.find or em.merge returns.',
}

/** The entities in memory that an entity refers to by fields with this cascade. */
function entitiesIn(entity: object, cascade: Cascade): object[] {
  return cascadingReferences(entity, cascade).flatMap(reference => Reference.entityOf(reference) ?? [])
}

export function cascadingReferences(entity: object, cascade: Cascade): Reference<object>[] {
  const cascades = Object.entries(declarationOfEntity(entity).cascade)
  return cascades.flatMap(([field, kinds]) => (kinds.includes(cascade) ? referencesIn(entity, field) : []))
}

/** The entity's name in error messages. */
export function describe(entity: object): string {
  const record = recordOf(entity)
  return record ? keyOf(record.declaration, record.id) : `This entity of ${declarationOfEntity(entity).bucket}`
}

function planned(entity: object, record: EntityRecord): PlannedWrite[] {
  const { declaration, isRemoved, staged, snapshot } = record
  const before = staged === undefined ? snapshot : staged
  const now = (): PlannedWrite => {
    const stored = isRemoved ? undefined : toStored(declaration, entity)
    return { record, stored, text: stored === undefined ? null : JSON.stringify(stored) }
  }
  let write = now()
  if (write.text !== before && write.text !== null && before !== null) {
    callHook(declaration, 'beforeUpdate', entity)
    write = now()
  }
  return write.text === before ? [] : [write]
}

function release(entity: object, record: EntityRecord): void {
  if (record.version === 0) forgetRecord(entity)
  else Object.assign(record, { context: undefined, isRemoved: false, staged: undefined })
}

function keyOf({ bucket }: Declaration, id: string): Key {
  return objectKey({ ...parseBucketName(bucket), id })
}

function otherVersion(entity: object, version: Version): FreshetError {
  return new FreshetError(
    'VERSION_CONFLICT',
    `The managed ${describe(entity)} has another version than the detached entity to merge. Refresh it, and apply your change ` +
      'again.',
    { details: { path: pathOfKey(describe(entity)), version, entities: [entity] } },
  )
}
