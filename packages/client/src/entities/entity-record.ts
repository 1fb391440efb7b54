/**
 * What is known about an entity besides its fields. It is kept outside the object, so that the fields are only data, and it
 * stays with an object that is detached: so `merge` can find out, without reading anything, whether the object was changed and
 * on top of which version.
 *
 *     new        no record
 *     managed    a record, and a manager that has the object in its map
 *     removed    the same, until the flush that deletes it; then new
 *     detached   a record, and no manager (or another one)
 */
import type { Version } from '@freshet/protocol'
import type { Declaration } from './declaration.js'

export interface EntityRecord {
  readonly declaration: Declaration
  readonly id: string
  /** Whether the id was generated here, at random, so that no other client can have it. */
  readonly isIdMade: boolean
  /** The context that manages the entity; undefined: it is detached. */
  context: object | undefined
  isRemoved: boolean
  /** The stored version; 0: nothing is stored, as far as is known. */
  version: Version
  /** The text stored at that version; null: nothing. */
  snapshot: string | null
  /** The text that an uncommitted transaction would store; undefined: it changes nothing. */
  staged: string | null | undefined
}

const records = new WeakMap<object, EntityRecord>()

export function recordOf(entity: object): EntityRecord | undefined {
  return records.get(entity)
}

export function setRecord(entity: object, record: EntityRecord): void {
  records.set(entity, record)
}

/** Makes the entity new again. */
export function forgetRecord(entity: object): void {
  records.delete(entity)
}

/**
 * The id of an entity that was persisted or loaded, even after it was detached.
 *
 * @example
 * import { idOf } from '@freshet/client/entities'
 *
 * const robusta = new Coffee('Robusta', 3, null)
 * await em.persist(robusta, { id: 'robusta' })
 * console.log(idOf(robusta)) // robusta
 */
export function idOf(entity: object): string {
  return known(entity).id
}

/**
 * The version at which its fields were read or written; 0: it was not flushed yet.
 *
 * @example
 * import { versionOf } from '@freshet/client/entities'
 *
 * const robusta = new Coffee('Robusta', 3, null)
 * await em.persist(robusta)
 * console.log(versionOf(robusta)) // 0
 * await em.flush()
 * console.log(versionOf(robusta) > 0) // true
 */
export function versionOf(entity: object): Version {
  return known(entity).version
}

function known(entity: object): EntityRecord {
  const record = records.get(entity)
  if (record) return record
  throw new TypeError('This is not an entity, or it is new: it gets its id from em.persist(entity).')
}
