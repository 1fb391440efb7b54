/**
 * A bucket as a transaction sees it: the first read of an object counts for all later ones, its own writes are seen by it
 * alone, and lists have them in.
 */
import { compareUtf8, createIdMaker, FreshetError, type IdRange, isWithin, type Version } from '@freshet/protocol'
import type { ListOptions, Page } from '../buckets/bucket.js'
import { type JsonPatch, type ObjectBucket, toJson } from '../buckets/object-bucket.js'
import { attachFacts, idOf, versionOf } from '../buckets/stored.js'
import type { QueryOptions } from '../queries/query-options.js'
import type { ReadOptions } from '../reading/read-options.js'
import { overlay } from './query-overlay.js'
import type { ToldVersions } from './told-versions.js'
import { listRead, queryRead, type TransactionState } from './transaction-state.js'

/** An object that a transaction has listed or found, by its id. */
export interface Listed<T> {
  readonly id: string
  readonly value: T
}

export interface TransactionBucketParts<T extends object> {
  readonly bucket: ObjectBucket<T>
  readonly state: TransactionState
  readonly told: ToldVersions
  /** Throws if the transaction has ended. */
  readonly options: () => ReadOptions
}

/** What a write of a transaction answers at once; its version is the position of the commit. */
export interface WrittenId {
  readonly id: string
}

/** With whole objects alone: the transaction may write any of them back. */
export type TransactionQuery<T> = Pick<QueryOptions<T>, 'where' | 'sort' | 'limit'>

const newId = createIdMaker({
  nowMs: Date.now,
  randomBytes: count => crypto.getRandomValues(new Uint8Array(count)),
})

/** Of a query's result, in one request. */
const PART_MAX = 1000

/**
 * A bucket as a transaction sees it: the first read of an object counts for all later ones, and its own writes are in
 * what it reads.
 */
export class TransactionBucket<T extends object> {
  readonly #bucket: ObjectBucket<T>
  readonly #state: TransactionState
  readonly #told: ToldVersions
  readonly #options: () => ReadOptions

  constructor({ bucket, state, told, options }: TransactionBucketParts<T>) {
    this.#bucket = bucket
    this.#state = state
    this.#told = told
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
    for (const id of ids) this.#takeGiven(id)
    const unread = [...new Set(ids)].filter(id => !this.#state.knows(this.#bucket.pathOf(id)))
    const found = unread.length === 0 ? [] : await this.#read(unread, options)
    unread.forEach((id, i) => {
      this.#state.read(this.#bucket.path, id, this.#bucket.pathOf(id), versionIn(found[i]), found[i])
    })
    return ids.map(id => this.#state.valueOf(this.#bucket.pathOf(id)) as T | undefined)
  }

  /** As told, or newer. */
  async #read(ids: readonly string[], options: ReadOptions): Promise<(T | undefined)[]> {
    const found = new Map(zip(ids, await this.#bucket.getMany(ids, options)))
    const outdated = ids.filter(id => this.#told.isOutdated(this.#bucket.pathOf(id), versionIn(found.get(id))))
    if (options.read === 'any' && outdated.length > 0) {
      const again = await this.#bucket.getMany(outdated, { ...options, read: 'session' })
      for (const [id, stored] of zip(outdated, again)) found.set(id, stored)
    }
    return ids.map(id => found.get(id))
  }

  async #page(range: ListOptions): Promise<Page<T>> {
    const options = this.#options()
    const page = await this.#bucket.page({ ...options, ...range })
    const isOutdated = this.#told.isOutdated(this.#bucket.path, page.served.version ?? 0)
    return options.read === 'any' && isOutdated ? this.#bucket.page({ ...options, ...range, read: 'session' }) : page
  }

  #takeGiven(id: string): void {
    const path = this.#bucket.pathOf(id)
    const given = this.#state.given(path)
    if (given === undefined) return
    const { version, value } = given
    const served = { from: 'server', ageS: undefined, at: undefined, version } as const
    const stored = version === 0 ? undefined : attachFacts(value as object, { id, version, served })
    this.#state.read(this.#bucket.path, id, path, version, stored)
  }

  /**
   * All objects in the range, by id, with what it wrote itself. That there are no others is among what must still hold at
   * the commit: nobody can have changed, added or removed one.
   */
  async list(range: IdRange = {}): Promise<Listed<T>[]> {
    const { path } = this.#bucket
    let { after } = range
    do {
      const page = await this.#page({ ...range, ...(after === undefined ? {} : { after }) })
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

  /**
   * What `where` holds for, sorted, the first `limit` of it, or all; with what it wrote itself. That this is the result is
   * among what must still hold at the commit: nobody can have changed, added or removed anything that would make it another.
   */
  async query({ limit = Number.POSITIVE_INFINITY, ...options }: TransactionQuery<T>): Promise<Listed<T>[]> {
    const { path } = this.#bucket
    const { toQuery } = await import('../queries/read-query.js')
    const own = this.#state.writesTo(path)
    const found: Listed<T>[] = []
    // So many of what is found may be its own, and not count.
    const foundMax = limit + own.length
    let after: string | undefined
    do {
      const part = { ...options, ...this.#options(), limit: Math.min(PART_MAX, foundMax - found.length) }
      const page = await this.#bucket.query(after === undefined ? part : { ...part, after })
      this.#state.list(queryRead(path, page.served.version ?? 0, page.dependsOn))
      for (const stored of page.items) {
        const id = idOf(stored)
        this.#state.listed(path, id, this.#bucket.pathOf(id), stored)
        found.push({ id, value: stored })
      }
      after = page.next
    } while (after !== undefined && found.length < foundMax)
    const result = overlay(toQuery<T>(options), found, own)
    return result.slice(0, limit === Number.POSITIVE_INFINITY ? undefined : limit)
  }

  /** Replaces it, or creates it, when the transaction commits. It need not be awaited. */
  put(id: string, value: T): Promise<WrittenId> {
    this.#options()
    const text = toJson(value)
    const write = { path: this.#bucket.pathOf(id), value: JSON.parse(text) as object }
    this.#state.write(this.#bucket.path, id, write, JSON.parse(text) as object)
    return Promise.resolve({ id })
  }

  /**
   * Creates it when the transaction commits, under an id that is made up, or under one where nothing is yet: that nothing is there is
   * among what must still hold at the commit. Throws VERSION_CONFLICT if the transaction has seen something there.
   */
  create(value: T, { id = newId() }: { readonly id?: string } = {}): Promise<WrittenId> {
    const path = this.#bucket.pathOf(id)
    if (this.#state.valueOf(path) !== undefined) throw occupied(path)
    this.#state.read(this.#bucket.path, id, path, 0, undefined)
    return this.put(id, value)
  }

  /** JSON merge patch (RFC 7396) of what the transaction sees. Throws OBJECT_NOT_FOUND if it sees nothing. */
  async patch(id: string, patch: JsonPatch<T>): Promise<WrittenId> {
    const change = JSON.parse(toJson(patch)) as Json
    const value = await this.get(id)
    if (value !== undefined) return this.put(id, merged(JSON.parse(JSON.stringify(value)), change) as T)
    throw new FreshetError('OBJECT_NOT_FOUND', `There is no ${this.#bucket.pathOf(id)} to patch. Use put.`)
  }

  /** Deletes it when the transaction commits, if it is there. It need not be awaited. */
  delete(id: string): Promise<WrittenId> {
    this.#options()
    this.#state.write(this.#bucket.path, id, { path: this.#bucket.pathOf(id), delete: true }, undefined)
    return Promise.resolve({ id })
  }
}

type Json = { readonly [name: string]: unknown }

/** RFC 7396, section 2. */
function merged(target: unknown, patch: Json): Json {
  const result = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, isObject(value) ? merged(result.get(name), value) : value)
  }
  return Object.fromEntries(result)
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function occupied(path: string): FreshetError {
  return new FreshetError('VERSION_CONFLICT', `${path} exists already, so it cannot be created. Use put.`, {
    details: { path },
  })
}

function versionIn(stored: object | undefined): Version {
  return stored === undefined ? 0 : versionOf(stored)
}

function zip<Value>(ids: readonly string[], values: readonly Value[]): [string, Value][] {
  return ids.map((id, i) => [id, values[i] as Value])
}
