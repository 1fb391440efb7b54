/** What a commit says about a bucket's indexes, and since when they can be relied on. */
import { type IndexDeclaration, idOfKey, type Position } from '@freshet/protocol'
import type { IndexState, Write } from './store.js'

/** The indexes that a bucket has from this write on; undefined: unchanged. */
export function indexesIn(write: Write): readonly IndexDeclaration[] | undefined {
  if (!('delete' in write)) return write.indexes
  return idOfKey(write.key) === undefined ? [] : undefined
}

/** Since when an index that begins with these fields has been declared; undefined if there is no such index. */
export function declaredAt(indexes: readonly IndexState[], fields: readonly string[]): Position | undefined {
  const found = indexes.filter(index => fields.every((field, i) => index.fields[i] === field))
  return found.length === 0 ? undefined : Math.min(...found.map(index => index.declaredAt))
}
