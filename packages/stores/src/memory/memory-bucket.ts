/**
 * One bucket in memory: its values by key, its ids in order, sorted when a scan first needs them, and when its tags last
 * changed. Its indexes are declarations only: whatever is looked for, every value is looked at.
 */
import { addTags, parseFields } from '@freshet/core/queries'
import {
  compareUtf8,
  type IndexDeclaration,
  type IndexState,
  isWithin,
  type Key,
  type ScanRange,
  type StoredEntry,
  type StoredValue,
  scanLimit,
  type Tag,
  type Version,
  type Write,
} from '@freshet/core/store'
import { idOfKey } from '@freshet/protocol'

export class MemoryBucket {
  /** The position of the last change. */
  version: Version = 0
  indexes: readonly IndexState[] = []
  readonly tagVersions: Map<Tag, Version> = new Map()
  readonly #values = new Map<Key, StoredValue>()
  #sorted: { readonly id: string; readonly key: Key }[] | undefined

  get(key: Key): StoredValue | undefined {
    return this.#values.get(key)
  }

  /** Those that keep their name and fields are kept as they are. Ready at once: there is nothing to build. */
  declare(indexes: readonly IndexDeclaration[], version: Version): void {
    const done = this.#inOrder().length
    this.indexes = indexes.map(({ name, fields }) => {
      const kept = this.indexes.find(index => index.name === name && index.fields.join() === fields.join())
      return kept ?? { name, fields, declaredAt: version, isReady: true, done, total: done }
    })
  }

  /** Adds the tags that a write carries: of the value before, and of the one after. */
  addTags(tags: Set<Tag>, bucket: Key, write: Write): void {
    if (this.indexes.length === 0 || write.key === bucket) return
    for (const value of [this.#values.get(write.key), 'delete' in write ? undefined : write]) {
      if (value) addTags(tags, bucket, this.indexes, parseFields(value.contentType, value.body))
    }
  }

  apply(write: Write, version: Version): void {
    this.version = version
    if ('delete' in write) {
      if (this.#values.delete(write.key)) this.#sorted = undefined
      return
    }
    if (!this.#values.has(write.key)) this.#sorted = undefined
    this.#values.set(write.key, { version, contentType: write.contentType, body: write.body })
  }

  scan(range: ScanRange): { readonly entries: readonly StoredEntry[]; readonly next?: string } {
    const limit = scanLimit(range)
    const entries: StoredEntry[] = []
    for (const { id, key } of this.#inOrder()) {
      if (!isWithin(id, range)) continue
      const last = entries.at(-1)
      if (last !== undefined && entries.length === limit) return { entries, next: last.id }
      const value = this.#values.get(key)!
      const entry = { id, ...value, body: value.body.slice() }
      if (range.filter?.(entry) ?? true) entries.push(entry)
    }
    return { entries }
  }

  #inOrder(): readonly { readonly id: string; readonly key: Key }[] {
    this.#sorted ??= [...this.#values.keys()]
      .flatMap(key => {
        const id = idOfKey(key)
        return id === undefined ? [] : [{ id, key }]
      })
      .sort((a, b) => compareUtf8(a.id, b.id))
    return this.#sorted
  }
}
