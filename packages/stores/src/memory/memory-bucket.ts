/** One bucket in memory: its values by key, and its ids in order, sorted when a scan first needs them. */
import {
  compareUtf8,
  isWithin,
  type Key,
  type ScanRange,
  type StoredEntry,
  type StoredValue,
  scanLimit,
  type Version,
  type Write,
} from '@freshet/core/store'
import { idOfKey } from '@freshet/protocol'

export class MemoryBucket {
  /** The position of the last change. */
  version: Version = 0
  readonly #values = new Map<Key, StoredValue>()
  #sorted: { readonly id: string; readonly key: Key }[] | undefined

  get(key: Key): StoredValue | undefined {
    return this.#values.get(key)
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
