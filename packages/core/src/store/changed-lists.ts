/**
 * Whether what lists have shown still holds. A bucket that has not changed at all is the common case; else the change log
 * says whether any change since was within the range. So lists of one part of a bucket do not mind writes to another. What
 * depends on tags asks those alone, if they have been written all the time since.
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
  /** The position of the last change in a bucket; 0 if there was none. */
  bucketVersion(bucket: Key): Version
  /** The keys of each commit after a position, in any order; undefined among them: some are not known any more. */
  changesAfter(position: Position): Iterable<readonly Key[] | undefined>
  /** The position of the last change that carries a tag; 0 if none is known. */
  tagVersion(tag: Tag): Version
  /** Since when an index has been declared that begins with these fields; undefined if there is none. */
  declaredAt(bucket: Key, fields: readonly string[]): Position | undefined
}

/** Beyond so many commits it is not looked any further: reading the list again is as quick. */
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
