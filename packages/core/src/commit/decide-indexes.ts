/**
 * The effects of a commit's writes on indexes: declarations, entries and tags. The content of an object never makes this
 * throw: an object that cannot be parsed has no fields.
 *
 * Entries are added and removed whether or not an index is built yet. A write removes the entry of the value before, if there is
 * one yet, and adds the entry of the value after; the build adds the entries of all older objects. Either order ends the same.
 */
import { bucketOfKey, idOfKey, type SortValue } from '@freshet/protocol'
import { addTags, parseFields, valueAt } from '../queries/index.js'
import { type IndexDeclaration, indexesIn, type Key, type Position, type Tag, type Write } from '../store/index.js'
import type { Content } from './commit-view.js'
import type { IndexNumbers, IndexRecord } from './index-record.js'

/** An index entry to add or to remove. */
export interface EntryChange {
  /** The number of the index. */
  readonly index: number
  /** The values of the index's fields, in their order. */
  readonly values: readonly SortValue[]
  readonly id: string
  readonly isThere: boolean
}

export interface IndexEffects {
  /** The buckets whose indexes change, with their new indexes. */
  readonly declared: ReadonlyMap<Key, readonly IndexRecord[]>
  readonly numbers: IndexNumbers | undefined
  /** In the order in which they take effect. */
  readonly entries: readonly EntryChange[]
  readonly tags: ReadonlySet<Tag>
}

export interface IndexView {
  indexesOf(bucket: Key): readonly IndexRecord[]
  readonly indexNumbers: IndexNumbers
  /** The content of a key. Valid until the next call. */
  contentOf(key: Key): Content | undefined
}

interface Draft {
  readonly declared: Map<Key, readonly IndexRecord[]>
  numbers: IndexNumbers | undefined
  readonly entries: EntryChange[]
  readonly tags: Set<Tag>
}

/** Undefined: no index is affected. */
export function decideIndexes(writes: readonly Write[], position: Position, view: IndexView): IndexEffects | undefined {
  let draft: Draft | undefined
  // A new index applies to all writes of the commit that declares it.
  for (const write of writes) {
    const declarations = indexesIn(write)
    if (declarations === undefined) continue
    draft ??= newDraft()
    declare(draft, write.key, declarations, position, view)
  }
  for (const write of writes) {
    const bucket = bucketOfKey(write.key)
    const indexes = draft?.declared.get(bucket) ?? view.indexesOf(bucket)
    if (indexes.length === 0) continue
    const id = idOfKey(write.key)
    if (id === undefined) continue
    draft ??= newDraft()
    const before = fieldsIn(view.contentOf(write.key))
    reindex(draft, { bucket, id, before, after: 'delete' in write ? undefined : fieldsIn(write) }, indexes)
  }
  return draft
}

function newDraft(): Draft {
  return { declared: new Map(), numbers: undefined, entries: [], tags: new Set() }
}

function declare(
  draft: Draft,
  bucket: Key,
  declarations: readonly IndexDeclaration[],
  position: Position,
  view: IndexView,
): void {
  const before = view.indexesOf(bucket)
  if (before.length + declarations.length === 0) return
  const numbers = draft.numbers ?? view.indexNumbers
  const changed = redeclare(before, declarations, position, numbers.last)
  if (changed === undefined) return
  draft.numbers = { last: changed.last, dropped: [...numbers.dropped, ...changed.dropped] }
  draft.declared.set(bucket, changed.indexes)
}

export interface Redeclared {
  readonly indexes: readonly IndexRecord[]
  /** The numbers of the dropped indexes. */
  readonly dropped: readonly number[]
  /** The last number assigned. */
  readonly last: number
}

/** A bucket's indexes after a declaration: an index that keeps its name and its fields is kept. Undefined if nothing changes. */
export function redeclare(
  before: readonly IndexRecord[],
  declarations: readonly IndexDeclaration[],
  position: Position,
  lastBefore: number,
): Redeclared | undefined {
  let last = lastBefore
  const indexes = declarations.map(({ name, fields }): IndexRecord => {
    const kept = before.find(index => index.name === name && index.fields.join() === fields.join())
    return kept ?? { number: ++last, name, fields, declaredAt: position, isReady: false, done: 0, total: 0 }
  })
  const dropped = before.filter(index => !indexes.includes(index)).map(({ number }) => number)
  return dropped.length === 0 && last === lastBefore ? undefined : { indexes, dropped, last }
}

/** Undefined: the object is absent. `value` is undefined if it has no fields. */
type Fields = { readonly value: object | undefined } | undefined

interface ObjectChange {
  readonly bucket: Key
  readonly id: string
  readonly before: Fields
  readonly after: Fields
}

function reindex(draft: Draft, { bucket, id, before, after }: ObjectChange, indexes: readonly IndexRecord[]): void {
  if (before) addTags(draft.tags, bucket, indexes, before.value)
  if (after) addTags(draft.tags, bucket, indexes, after.value)
  for (const index of indexes) {
    const valuesBefore = before && valuesOf(index, before.value)
    const valuesAfter = after && valuesOf(index, after.value)
    const isSame = valuesBefore !== undefined && valuesAfter !== undefined && areSame(valuesBefore, valuesAfter)
    if (valuesBefore && !isSame) {
      draft.entries.push({ index: index.number, values: valuesBefore, id, isThere: false })
    }
    // While the index is being built, even an unchanged entry may still be missing.
    if (valuesAfter && !(isSame && index.isReady)) {
      draft.entries.push({ index: index.number, values: valuesAfter, id, isThere: true })
    }
  }
}

export function valuesOf({ fields }: IndexDeclaration, value: object | undefined): readonly SortValue[] {
  return fields.map(field => valueAt(value, field))
}

/** Whether their entries are the same. Entries of arrays and objects are all the same. */
function areSame(a: readonly SortValue[], b: readonly SortValue[]): boolean {
  return a.every((value, i) => value === b[i] || (isOther(value) && isOther(b[i])))
}

function isOther(value: SortValue): boolean {
  return typeof value === 'object' && value !== null
}

function fieldsIn(content: Content | undefined): Fields {
  return content && { value: parseFields(content.contentType, content.body) }
}
