/**
 * A bucket as a transaction sees it: the first read of an object counts for all later ones, its own writes are seen by it
 * alone, and lists have them in.
 */
import { compareUtf8, type IdRange, isWithin } from '@freshet/protocol'
import { type ObjectBucket, toJson } from '../buckets/object-bucket.js'
import { idOf, versionOf } from '../buckets/stored.js'
import type { ReadOptions } from '../reading/read-options.js'
import { listRead, type TransactionState } from './transaction-state.js'

export interface Listed<T> {
  readonly id: string
  readonly value: T
}

export class TransactionBucket<T extends object> {
  readonly #bucket: ObjectBucket<T>
  readonly #state: TransactionState
  readonly #options: () => ReadOptions

  /** `options` throws if the transaction has ended. */
  constructor(bucket: ObjectBucket<T>, state: TransactionState, options: () => ReadOptions) {
    this.#bucket = bucket
    this.#state = state
    this.#options = options
  }

  /** Undefined if it is not there. */
  async get(id: string): Promise<T | undefined> {
    const [value] = await this.getMany([id])
    return value
  }

  /** In the order asked for; undefined for what is not there. */
  async getMany(ids: readonly string[]): Promise<(T | undefined)[]> {
    const options = this.#options()
    const unread = [...new Set(ids)].filter(id => !this.#state.knows(this.#bucket.pathOf(id)))
    const found = unread.length === 0 ? [] : await this.#bucket.getMany(unread, options)
    unread.forEach((id, i) => {
      const stored = found[i]
      const version = stored === undefined ? 0 : versionOf(stored)
      this.#state.read(this.#bucket.path, id, this.#bucket.pathOf(id), version, stored)
    })
    return ids.map(id => this.#state.valueOf(this.#bucket.pathOf(id)) as T | undefined)
  }

  /**
   * All objects in the range, by id, with what it wrote itself. That there are no others is among what must still hold at
   * the commit: nobody can have changed, added or removed one.
   */
  async list(range: IdRange = {}): Promise<Listed<T>[]> {
    const { path } = this.#bucket
    let { after } = range
    do {
      const page = await this.#bucket.page({ ...this.#options(), ...range, ...(after === undefined ? {} : { after }) })
      this.#state.list(listRead(path, page.served.version ?? 0, range, after, page.next))
      for (const stored of page.items) {
        const id = idOf(stored)
        this.#state.listed(path, id, this.#bucket.pathOf(id), stored)
      }
      after = page.next
    } while (after !== undefined)
    const objects = [...this.#state.objectsOf(path)].filter(({ id }) => isWithin(id, range)) as Listed<T>[]
    return objects.sort((a, b) => compareUtf8(a.id, b.id))
  }

  /** Replaces it, or creates it, when the transaction commits. */
  put(id: string, value: T): void {
    this.#options()
    const text = toJson(value)
    const write = { path: this.#bucket.pathOf(id), value: JSON.parse(text) as object }
    this.#state.write(this.#bucket.path, id, write, JSON.parse(text) as object)
  }

  /** Deletes it when the transaction commits, if it is there. */
  delete(id: string): void {
    this.#options()
    this.#state.write(this.#bucket.path, id, { path: this.#bucket.pathOf(id), delete: true }, undefined)
  }
}
