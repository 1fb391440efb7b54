/**
 * What is known about an entity besides its fields. It stands outside of the object, so that the fields are the data and
 * nothing else, and it stays with an object that is detached: that is what lets `merge` find out, without reading
 * anything, whether and on top of what it was changed.
 *
 *     new        no record
 *     managed    a record, and a manager that has the object in its map
 *     removed    the same, until the flush that deletes it; then new
 *     detached   a record, and no manager (or not the one that is asked)
 */
import type { Version } from '@freshet/protocol'
import type { Declaration } from './declaration.js'

export interface EntityRecord {
  readonly declaration: Declaration
  readonly id: string
  /** Made here, at random, so that nobody else can have it. */
  readonly isIdMade: boolean
  /** Whose it is; undefined: it is detached. */
  context: object | undefined
  isRemoved: boolean
  /** Of what is stored; 0: nothing is, as far as we know. */
  version: Version
  /** What is stored at that version, as text; null: nothing. */
  snapshot: string | null
  /** What a transaction that has not committed yet would store; undefined: it changes nothing. */
  staged: string | null | undefined
}

const records = new WeakMap<object, EntityRecord>()

export function recordOf(entity: object): EntityRecord | undefined {
  return records.get(entity)
}

export function setRecord(entity: object, record: EntityRecord): void {
  records.set(entity, record)
}

/** It is new again. */
export function forgetRecord(entity: object): void {
  records.delete(entity)
}

/** The id of an entity that was persisted or loaded, also after it was detached. */
export function idOf(entity: object): string {
  return known(entity).id
}

/** The version that its fields were read at, or written as; 0: it was not flushed yet. */
export function versionOf(entity: object): Version {
  return known(entity).version
}

function known(entity: object): EntityRecord {
  const record = records.get(entity)
  if (record) return record
  throw new TypeError('This is no entity, or one that is new: it has an id once em.persist(entity) is done.')
}
