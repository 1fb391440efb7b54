/**
 * The tags that the result of a query depends on, and the tags that a write carries.
 *
 * Why they suffice: say the result differs between two positions, and the filter demands that the fields F have the values v.
 * Then some object that is in one of the two results was written or deleted in between. If it was in the first, its first
 * change since then had v before; if it is in the second, its last change had v after. Either carries the tag of F and v.
 * (Objects that only move up because others left a page are covered by those others.)
 */
import { type IndexDeclaration, type Key, type SortValue, type Tag, type TagValue, tagOf } from '@freshet/protocol'
import type { StoreQuery } from '../store/store.js'
import { throughOf } from './access.js'
import { valueAt } from './candidate.js'
import { combinations, conditionsOf, valuesDemanded } from './conditions.js'

/** How many tags a result may depend on; beyond that, it depends on a shorter prefix, or on the whole bucket. */
const TAGS_MAX = 10

export interface DependencyTags {
  readonly tags: readonly Tag[]
  /** The fields of the tags: a prefix of a declared index. */
  readonly fields: readonly string[]
}

/** The finest tags that the indexes offer; undefined: any write to the bucket may change the result. */
export function dependenciesOf(
  bucket: Key,
  query: StoreQuery,
  indexes: readonly IndexDeclaration[],
): DependencyTags | undefined {
  const conditions = conditionsOf(query.where)
  let best: { readonly fields: readonly string[]; readonly values: readonly (readonly TagValue[])[] } | undefined
  let bestTags = 0
  for (const { fields } of throughOf(query, indexes)) {
    const values: (readonly TagValue[])[] = []
    let tags = 1
    for (const field of fields) {
      const demanded = valuesDemanded(conditions.get(field))
      if (demanded === undefined || tags * demanded.length > TAGS_MAX) break
      values.push(demanded)
      tags *= demanded.length
    }
    const length = best?.fields.length ?? 0
    if (values.length < Math.max(1, length) || (values.length === length && tags >= bestTags)) continue
    best = { fields: fields.slice(0, values.length), values }
    bestTags = tags
  }
  if (best === undefined) return undefined
  const { fields, values } = best
  return { fields, tags: combinations(values).map(combination => tagOf(bucket, fields, combination)) }
}

/** Adds the tags that an object with this value has under these indexes. */
export function addTags(
  tags: Set<Tag>,
  bucket: Key,
  indexes: readonly IndexDeclaration[],
  value: object | undefined,
): void {
  for (const { fields } of indexes) {
    const values: TagValue[] = []
    for (const field of fields) {
      const found = valueAt(value, field)
      // No filter demands equality with an array or an object.
      if (!isTagValue(found)) break
      values.push(found)
      tags.add(tagOf(bucket, fields.slice(0, values.length), values))
    }
  }
}

function isTagValue(value: SortValue): value is TagValue {
  return typeof value !== 'object' || value === null
}
