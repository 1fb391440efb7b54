/**
 * Whether a list that was read still holds. Most often the bucket has not changed at all. Otherwise the change log says
 * whether any later change was within the range, so lists of one part of a bucket are not affected by writes to another.
 * A list that depends on tags is checked by those alone, if they have been written all the time since.
 */
import {
  bucketOfKey,
  compareUtf8,
  idOfKey,
  isWithin,
  type Key,
  type Position,
  partsOfTag,
  type Tag,
  type Version,
} from '@freshet/protocol'
import type { ReadList, ReadVersion } from './store.js'

export interface ChangedKeys {
  /** The position of the last change in a bucket; 0 if there is no such change. */
  bucketVersion(bucket: Key): Version
  /** The keys of each commit after a position, in any order; an undefined element means that some are no longer known. */
  changesAfter(position: Position): Iterable<readonly Key[] | undefined>
  /** The position of the last change that carries a tag; 0 if none is known. */
  tagVersion(tag: Tag): Version
  /** Since when an index that begins with these fields has been declared; undefined if there is no such index. */
  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined
}

/** The most commits that are searched: beyond them, reading the list again is as quick. */
const COMMITS_MAX = 10_000

/** The buckets whose lists no longer hold, or may not hold, with their versions. */
export function changedLists(lists: readonly ReadList[], changed: ChangedKeys): readonly ReadVersion[] {
  if (lists.length === 0) return []
  const found = new Map<Key, Version>()
  for (const list of lists) if (hasChanged(list, changed)) found.set(list.bucket, changed.bucketVersion(list.bucket))
  return [...found].map(([key, version]) => ({ key, version }))
}

function hasChanged(list: ReadList, changed: ChangedKeys): boolean {
  if (changed.bucketVersion(list.bucket) <= list.version) return false
  if (list.tags !== undefined && list.tags.length > 0) return list.tags.some(tag => hasTagChanged(tag, list, changed))
  let commits = 0
  for (const keys of changed.changesAfter(list.version)) {
    if (keys === undefined || ++commits > COMMITS_MAX) return true
    if (keys.some(key => isAbout(list, key))) return true
  }
  return false
}

function hasTagChanged(tag: Tag, { bucket, version }: ReadList, changed: ChangedKeys): boolean {
  const parts = partsOfTag(tag)
  if (parts?.bucket !== bucket) return true
  const declaredAt = changed.declaredAt(bucket, parts.fields)
  return declaredAt === undefined || declaredAt > version || changed.tagVersion(tag) > version
}

function isAbout(list: ReadList, key: Key): boolean {
  const id = idOfKey(key)
  if (id === undefined || bucketOfKey(key) !== list.bucket || !isWithin(id, list)) return false
  return list.through === undefined || compareUtf8(id, list.through) <= 0
}
