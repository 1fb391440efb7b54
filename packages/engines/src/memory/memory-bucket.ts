/** One bucket in memory: its values by key, its declared indexes, and when its tags last changed. */
import type { IndexRecord } from '@freshet/core/commit'
import type { Key, StoredValue, Tag, Version, Write } from '@freshet/core/store'
import { tagKey } from '@freshet/store/indexes'
import { BucketState } from './bucket-state.js'

export class MemoryBucket {
  readonly #values = new Map<Key, StoredValue>()
  readonly #tagVersions = new Map<string, Version>()
  #version: Version = 0
  #indexes: readonly IndexRecord[] = []
  /** Kept until something changes. */
  #state: BucketState | undefined

  /** The position of the last change. */
  get version(): Version {
    return this.#version
  }

  get indexes(): readonly IndexRecord[] {
    return this.#indexes
  }

  /** The present state, which later changes do not affect. */
  get state(): BucketState {
    this.#state ??= new BucketState({
      version: this.#version,
      indexes: this.#indexes,
      tagVersions: this.#tagVersions,
      values: this.#values,
    })
    return this.#state
  }

  get(key: Key): StoredValue | undefined {
    return this.#values.get(key)
  }

  tagVersion(tag: Tag): Version {
    return this.#tagVersions.get(tagKey(tag)) ?? 0
  }

  /** Declared indexes are ready at once: there is nothing to build. */
  declare(bucket: Key, indexes: readonly IndexRecord[]): void {
    const done = this.#values.size - (this.#values.has(bucket) ? 1 : 0)
    this.#indexes = indexes.map(index => (index.isReady ? index : { ...index, isReady: true, done, total: done }))
    this.#state = undefined
  }

  tag(tag: Tag, version: Version): void {
    this.#tagVersions.set(tagKey(tag), version)
    this.#state = undefined
  }

  apply(write: Write, version: Version): void {
    this.#version = version
    this.#state = undefined
    if ('delete' in write) this.#values.delete(write.key)
    else this.#values.set(write.key, { version, contentType: write.contentType, body: write.body })
  }
}
