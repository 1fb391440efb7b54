/**
 * The indexes of buckets as this server knows them, and what commits derive from them. The server assumes that a bucket it does
 * not know has no indexes; if the bucket has some, the script returns them (`commit-index-script.ts`).
 */

import { type IndexRecord, type Redeclared, redeclare } from '@freshet/core/commit'
import { addTags, parseFields, valueAt } from '@freshet/core/queries'
import type { IndexDeclaration, Key, StoredValue, Tag } from '@freshet/core/store'
import { partsOfTag } from '@freshet/protocol'
import { decodeIndexes, encodeIndexValue } from '@freshet/store/indexes'
import type { Content } from '@freshet/store/records'
import type { Part } from './message-pack.js'

export interface DeclaredIndexes {
  /** The position of their last change, as text. */
  readonly stamp: string
  readonly indexes: readonly IndexRecord[]
  /** The same indexes in the text that Redis keeps. */
  readonly text: string
}

/** The values of an object under indexes: a `record` of commit-script.ts. */
export type ObjectRecord = readonly Part[]

export const NO_INDEXES: DeclaredIndexes = { stamp: '0', indexes: [], text: '[]' }

export class KnownIndexes {
  /** The buckets that have, or had, indexes. */
  readonly #known = new Map<Key, DeclaredIndexes>()
  #last = 0

  /** No bucket is known to have, or have had, an index. */
  get isEmpty(): boolean {
    return this.#known.size === 0
  }

  of(bucket: Key): DeclaredIndexes {
    return this.#known.get(bucket) ?? NO_INDEXES
  }

  learn(bucket: Key, declared: DeclaredIndexes): void {
    if (declared.stamp === '0') this.#known.delete(bucket)
    else this.#known.set(bucket, declared)
  }

  /** The last number that was given to an index. */
  learnLast(last: number): void {
    this.#last = last
  }

  /**
   * The indexes of a bucket after a declaration. `last`: the last number that the same commit has given. Undefined if nothing
   * changes.
   */
  redeclare(
    bucket: Key,
    declarations: readonly IndexDeclaration[],
    last: number | undefined,
  ): (Redeclared & { readonly first: number }) | undefined {
    const before = last ?? this.#last
    // To the script, 0 is the position of the commit itself.
    const changed = redeclare(this.of(bucket).indexes, declarations, 0, before)
    return changed && { ...changed, first: changed.last === before ? 0 : before + 1 }
  }
}

/** Reads indexes as the script keeps them: see `layout.ts`. */
export function readDeclared(stamp: string, text: string): DeclaredIndexes {
  const indexes = decodeIndexes(Buffer.from(text))
  return { stamp, indexes: indexes.map(index => ({ ...index, declaredAt: index.declaredAt || Number(stamp) })), text }
}

/** The record of an object: its values under each index of its bucket. */
export function recordOf(indexes: readonly IndexRecord[], content: Content | StoredValue | undefined): ObjectRecord {
  const value = content && parseFields(content.contentType, content.body)
  return indexes.map(index => {
    const values = Buffer.concat(index.fields.map(field => encodeIndexValue(valueAt(value, field))))
    return [index.number, values, ...spelledValues(index, value)]
  })
}

/** The values of the index's fields as tags spell them, up to the first field that has none. */
function spelledValues(index: IndexRecord, value: object | undefined): readonly string[] {
  const tags = new Set<Tag>()
  addTags(tags, '', [index], value)
  const longest = [...tags].at(-1)
  return longest === undefined ? [] : partsOfTag(longest)!.values
}
