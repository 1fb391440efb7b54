/** Indexes, as declared with a bucket's settings. */
import { isName } from '../names.js'
import { objectionToField } from './field-path.js'

/** An index of a bucket: the fields that queries compare and sort by. */
export interface IndexDeclaration {
  /** Its name in the bucket, in the form of bucket names: `by-category`. */
  readonly name: string
  /** In the order in which a query narrows down: the fields with equality first, then one with a range or a sort. */
  readonly fields: readonly string[]
}

const INDEXES_MAX = 16
export const INDEX_FIELDS_MAX = 4

/** Why these cannot be the indexes of a bucket; undefined if they can. */
export function objectionToIndexes(indexes: unknown): string | undefined {
  if (!Array.isArray(indexes)) return 'indexes is a list such as [{"name":"by-category","fields":["category","price"]}]'
  if (indexes.length > INDEXES_MAX) return `a bucket has at most ${INDEXES_MAX} indexes`
  const names = new Set<unknown>()
  for (const index of indexes as readonly unknown[]) {
    const objection = objectionToIndex(index)
    if (objection !== undefined) return objection
    const { name } = index as IndexDeclaration
    if (names.has(name)) return `two indexes have the name ${name}`
    names.add(name)
  }
  return undefined
}

function objectionToIndex(index: unknown): string | undefined {
  if (typeof index !== 'object' || index === null) return 'an index is an object with a name and fields'
  const { name, fields, ...rest } = index as Readonly<Record<string, unknown>>
  const other = Object.keys(rest)[0]
  if (other !== undefined) return `an index has a name and fields, but not ${other.slice(0, 40)}`
  if (typeof name !== 'string' || !isName(name))
    return 'the name of an index uses a-z, 0-9, - and _, like that of a bucket'
  if (!Array.isArray(fields) || fields.length === 0 || fields.length > INDEX_FIELDS_MAX) {
    return `the index ${name} needs 1 to ${INDEX_FIELDS_MAX} fields`
  }
  if (new Set(fields).size < fields.length) return `the index ${name} has a field twice`
  return (fields as readonly unknown[]).map(objectionToField).find(objection => objection !== undefined)
}
