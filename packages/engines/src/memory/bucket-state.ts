/** A bucket in memory at one moment; it never changes. Entries of its indexes are built when they are first read. */
import { buildStep, type IndexRecord } from '@freshet/core/commit'
import { compareUtf8, type Key, type StoredValue, type Version } from '@freshet/core/store'
import { idOfKey } from '@freshet/protocol'
import type { EntriesRange, KeyedValue, KeyRange } from '@freshet/store/engine'
import { entryKey } from '@freshet/store/indexes'

export interface BucketStateOptions {
  /** The position of the last change. */
  readonly version: Version
  readonly indexes: readonly IndexRecord[]
  /** By `tagKey`. */
  readonly tagVersions: ReadonlyMap<string, Version>
  readonly values: ReadonlyMap<Key, StoredValue>
}

export class BucketState implements BucketStateOptions {
  readonly version: Version
  readonly indexes: readonly IndexRecord[]
  readonly tagVersions: ReadonlyMap<string, Version>
  readonly values: ReadonlyMap<Key, StoredValue>
  /** The objects in the order of their keys, without the bucket's own record. */
  readonly #sorted: readonly KeyedValue[]
  readonly #entries = new Map<number, readonly Buffer[]>()

  constructor({ version, indexes, tagVersions, values }: BucketStateOptions) {
    this.version = version
    this.indexes = indexes
    this.tagVersions = new Map(tagVersions)
    this.values = new Map(values)
    this.#sorted = Array.from(values, ([key, value]) => ({ key, ...value }))
      .filter(({ key }) => idOfKey(key) !== undefined)
      .sort((a, b) => compareUtf8(a.key, b.key))
  }

  get(key: Key): StoredValue | undefined {
    return this.values.get(key)
  }

  page({ low, high, isDescending, limit }: KeyRange): readonly KeyedValue[] {
    const isBefore = (key: Key, bound: Key, isIncluded: boolean) => compareUtf8(key, bound) < (isIncluded ? 1 : 0)
    const from = partition(this.#sorted, ({ key }) => isBefore(key, low.key, !low.isIncluded))
    const to = partition(this.#sorted, ({ key }) => isBefore(key, high.key, high.isIncluded))
    return some(this.#sorted, from, to, isDescending, limit)
  }

  /** Keys of the entries of one index. */
  entries({ low, high, after, isDescending, limit }: EntriesRange): readonly Buffer[] {
    const all = this.#entriesOf(low.readUInt32BE())
    const end = isDescending && after ? after : high
    const from = partition(all, key => Buffer.compare(key, low) < 0 || (!isDescending && isUpTo(key, after)))
    const to = partition(all, key => Buffer.compare(key, end) < 0)
    return some(all, from, to, isDescending, limit)
  }

  #entriesOf(number: number): readonly Buffer[] {
    let found = this.#entries.get(number)
    if (found === undefined) {
      const index = this.indexes.find(each => each.number === number)!
      const objects = this.#sorted.map(value => [idOfKey(value.key)!, value] as const)
      const { entries } = buildStep([{ ...index, isReady: false }], objects, { cursor: undefined, total: 0 })
      found = entries.map(({ values, id }) => entryKey(number, values, id)).sort(Buffer.compare)
      this.#entries.set(number, found)
    }
    return found
  }
}

function isUpTo(key: Buffer, after: Buffer | undefined): boolean {
  return after !== undefined && Buffer.compare(key, after) <= 0
}

/** How many items come before the first that is not `isBefore`. */
function partition<Item>(sorted: readonly Item[], isBefore: (item: Item) => boolean): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (isBefore(sorted[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}

function some<Item>(sorted: readonly Item[], from: number, to: number, isDescending: boolean, limit: number): Item[] {
  if (from >= to) return []
  return isDescending
    ? sorted.slice(Math.max(from, to - limit), to).reverse()
    : sorted.slice(from, Math.min(to, from + limit))
}
