/**
 * Reads from the store how much namespaces use, a page at a time, so that many namespaces do not become many reads at once.
 * Metrics are read all the time, so their values are kept, and only those that have changed according to the log are read
 * again.
 */
import type { LogEntry, Store, StoredValue } from '@freshet/core/store'
import { type Counted, requestedOf, requestsKey, usageKey, usageOf } from './usage-record.js'

export type StoredUsage = Readonly<Record<Counted, number>> & { readonly requests: StoredValue | undefined }

const PAGE = 200

export class UsageReader {
  readonly #store: Store
  #known: ReadonlyMap<string, StoredUsage> = new Map()
  /** The namespaces that have changed since they were read. */
  #changed = new Set<string>()

  constructor(store: Store) {
    this.#store = store
  }

  /** The usage as it is now. */
  async read(namespaces: readonly string[]): Promise<ReadonlyMap<string, StoredUsage>> {
    const found = new Map<string, StoredUsage>()
    for (let i = 0; i < namespaces.length; i += PAGE) await this.#readPage(namespaces.slice(i, i + PAGE), found)
    return found
  }

  /** The usage, at least as new as the log that was followed before. Drops what it kept of other namespaces. */
  async readChanged(namespaces: readonly string[]): Promise<ReadonlyMap<string, StoredUsage>> {
    const [changed, known] = [this.#changed, this.#known]
    // A namespace that changes during the read is read again next time.
    this.#changed = new Set()
    const wanted = namespaces.filter(name => changed.has(name) || !known.has(name))
    try {
      const found = await this.read(wanted)
      this.#known = new Map(namespaces.map(name => [name, found.get(name) ?? known.get(name)!]))
    } catch (error) {
      for (const name of changed) this.#changed.add(name)
      throw error
    }
    return this.#known
  }

  follow(entries: readonly LogEntry[]): void {
    for (const { keys } of entries) {
      for (const key of keys) {
        const namespace = usageOf(key)?.namespace ?? requestedOf(key)
        if (namespace !== undefined) this.#changed.add(namespace)
      }
    }
  }

  /** The log that was followed has a gap, so anything may have changed. */
  distrust(): void {
    for (const name of this.#known.keys()) this.#changed.add(name)
  }

  async #readPage(names: readonly string[], into: Map<string, StoredUsage>): Promise<void> {
    const keysOf = (name: string) => [usageKey(name, 'objects'), usageKey(name, 'bytes'), requestsKey(name)]
    const { value } = await this.#store.getMany(names.flatMap(keysOf))
    names.forEach((name, i) => {
      const [objects, bytes, requests] = value.slice(3 * i, 3 * i + 3)
      into.set(name, { objects: numberOf(objects), bytes: numberOf(bytes), requests })
    })
  }
}

function numberOf(counter: StoredValue | undefined): number {
  return counter === undefined ? 0 : Number(new TextDecoder().decode(counter.body))
}
