/**
 * A bucket as a transaction sees it: the first read of an object counts for all later ones, only the transaction sees its own
 * writes, and lists and results of queries include them.
 *
 * Its methods have the names, parameters and results of `ObjectBucket`. They differ where a transaction must: a write is sent
 * with the commit, so it returns only its id and takes no `signal` or `timeoutMs`; a query returns whole objects.
 */
import { comparePlaces, type Order, placeOf } from '@freshet/core/queries'
import { createIdMaker, FreshetError, type IdRange, type Path, type Version, type WriteAnswer } from '@freshet/protocol'
import {
  allItems,
  type CreateOptions,
  checkCreates,
  checkIds,
  type IdAndVersion,
  type ListOptions,
  type Page,
} from '../buckets/bucket.js'
import { type JsonPatch, type ObjectBucket, type QueryResult, toJson } from '../buckets/object-bucket.js'
import { attachFacts, idOf, type Stored, versionOf } from '../buckets/stored.js'
import type { QueryOptions } from '../queries/query-options.js'
import type { ReadOptions } from '../reading/read-options.js'
import { versionNumber } from '../writing/commit.js'
import type { WriteOptions } from '../writing/write.js'
import type { KnownVersions } from './known-versions.js'
import { listOrder, type PageOrder, queryOrder } from './page-order.js'
import { listRead, queryRead, type Seen, type TransactionState } from './transaction-state.js'

export interface TransactionBucketParts<T extends object> {
  readonly bucket: ObjectBucket<T>
  readonly state: TransactionState
  readonly learned: KnownVersions
  /** Throws if the transaction has ended. */
  readonly options: (reading?: ReadOptions) => ReadOptions
}

/** What a write of a transaction returns at once; its version will be the position of the commit. */
export type WrittenId = Pick<WriteAnswer, 'id'>

/** The condition of one write. The time limit and the signal are the transaction's. */
export type TransactionWriteOptions = Pick<WriteOptions, 'ifVersion'>

/** A query for whole objects, because the transaction may write any of them back. */
export type TransactionQuery<T> = QueryOptions<T> & { readonly fields?: undefined }

const newId = createIdMaker({
  nowMs: Date.now,
  randomBytes: count => crypto.getRandomValues(new Uint8Array(count)),
})

/**
 * A bucket as a transaction sees it: the first read of an object counts for all later ones, and reads include the transaction's
 * own writes, with version 0.
 */
export class TransactionBucket<T extends object>
  implements Pick<ObjectBucket<T>, 'name' | 'path' | 'pathOf' | 'get' | 'getMany' | 'page' | 'list' | 'ids'>
{
  readonly #bucket: ObjectBucket<T>
  readonly #state: TransactionState
  readonly #learned: KnownVersions
  readonly #options: (reading?: ReadOptions) => ReadOptions
  /** Such as `shop/products`. */
  readonly name: string
  /** The path in URLs: `/db/shop/products`. */
  readonly path: Path

  constructor({ bucket, state, learned, options }: TransactionBucketParts<T>) {
    this.#bucket = bucket
    this.#state = state
    this.#learned = learned
    this.#options = options
    this.name = bucket.name
    this.path = bucket.path
  }

  /**
   * The path of an object in URLs. Throws NAME_INVALID.
   *
   * @example
   * await db.transaction(async tx => {
   *   console.log(tx.bucket('shop/products').pathOf('tea')) // /db/shop/products/tea
   * })
   */
  pathOf(id: string): Path {
    return this.#bucket.pathOf(id)
  }

  /**
   * Reads an object; undefined if it does not exist. The commit requires that this still holds.
   *
   * @example
   * await db.transaction(async tx => {
   *   const accounts = tx.bucket('bank/accounts')
   *   accounts.put('ann', { balance: 1 })
   *   console.log(await accounts.get('ann')) // { balance: 1 }
   * })
   */
  async get(id: string, options?: ReadOptions): Promise<Stored<T> | undefined> {
    const [value] = await this.getMany([id], options)
    return value
  }

  /**
   * Reads several objects, in the order of `ids`; undefined for missing ones. The commit requires that all of this still holds.
   *
   * @example
   * const total = await db.transaction(async tx => {
   *   const [ann, ben] = await tx.bucket('bank/accounts').getMany(['ann', 'ben'])
   *   return (ann?.balance ?? 0) + (ben?.balance ?? 0)
   * })
   * console.log(total) // 100
   */
  async getMany(ids: readonly string[], reading?: ReadOptions): Promise<(Stored<T> | undefined)[]> {
    const options = this.#options(reading)
    checkIds(ids)
    for (const id of ids) this.#takeGiven(id)
    const unread = [...new Set(ids)].filter(id => !this.#state.knows(this.pathOf(id)))
    const found = unread.length === 0 ? [] : await this.#read(unread, options)
    unread.forEach((id, i) => {
      this.#state.read(this.path, id, this.pathOf(id), versionIn(found[i]), found[i])
    })
    return ids.map(id => this.#show(id))
  }

  /**
   * Reads one page, including the transaction's own writes. The commit requires that the page still holds: no other client has
   * changed, added or removed an object between its first and its last.
   *
   * @example
   * await db.transaction(async tx => {
   *   const { items } = await tx.bucket('bank/accounts').page({ limit: 1 })
   *   console.log(items.map(({ id, balance }) => [id, balance])) // [ [ 'ann', 100 ] ]
   * })
   */
  async page(options: ListOptions = {}): Promise<Page<Stored<T>>> {
    const range = rangeOf(options)
    return this.#filled(options, listOrder(range), async after => {
      const page = await this.#page(after === undefined ? options : { ...options, after })
      this.#state.list(listRead(this.path, page.served.version ?? 0, range, after, page.next))
      return page
    })
  }

  /**
   * Reads the whole bucket, page by page, including the transaction's own writes. The commit requires that the pages read still
   * hold.
   *
   * @example
   * const total = await db.transaction(async tx => {
   *   let sum = 0
   *   for await (const { balance } of tx.bucket('bank/accounts').list()) sum += balance
   *   return sum
   * })
   * console.log(total) // 100
   */
  list(options: ListOptions = {}): AsyncGenerator<Stored<T>, void, undefined> {
    return allItems(part => this.page(part), options)
  }

  /**
   * Like `list`, without the values.
   *
   * @example
   * await db.transaction(async tx => {
   *   for await (const { id } of tx.bucket('bank/accounts').ids({ prefix: 'b' })) console.log(id) // ben
   * })
   */
  async *ids(options: ListOptions = {}): AsyncGenerator<IdAndVersion, void, undefined> {
    for await (const stored of this.list(options)) yield { id: idOf(stored), version: versionOf(stored) }
  }

  /**
   * Reads one page of the objects that match `where`, including the transaction's own writes. The commit requires that the
   * result still holds: no other client has changed, added or removed anything that would change it. Throws TypeError for
   * `fields`.
   *
   * @example
   * await db.transaction(async tx => {
   *   const products = tx.bucket('shop/products')
   *   const { items } = await products.query({ where: { category: 'drinks' } })
   *   for (const product of items) products.put(product.id, { ...product, price: product.price + 1 })
   * })
   * console.log((await db.bucket('shop/products').get('tea'))?.price) // 5
   */
  async query(options: TransactionQuery<T>, reading?: ReadOptions): Promise<QueryResult<Stored<T>>> {
    if (options.fields !== undefined) throw new TypeError('A transaction reads whole objects: leave out `fields`.')
    const { toQuery } = await import('../queries/read-query.js')
    return this.#filled(options, queryOrder(toQuery<T>(options)), async after => {
      const part = after === undefined ? options : { ...options, after }
      const page = await this.#bucket.query(part, this.#options({ ...options, ...reading }))
      this.#state.list(queryRead(this.path, page.served.version ?? 0, page.dependsOn))
      return page
    })
  }

  /**
   * All objects that match `where`, page by page, including the transaction's own writes. The commit requires that the pages read
   * still hold.
   *
   * @example
   * await db.transaction(async tx => {
   *   const products = tx.bucket('shop/products')
   *   for await (const product of products.queryAll({ where: { price: { $gt: 5 } } })) products.delete(product.id)
   * })
   * console.log(await db.bucket('shop/products').get('mug')) // undefined
   */
  queryAll(options: TransactionQuery<T>, reading?: ReadOptions): AsyncGenerator<Stored<T>, void, undefined> {
    return allItems(part => this.query(part, reading), options)
  }

  /**
   * Replaces or creates an object when the transaction commits. It need not be awaited.
   *
   * @example
   * await db.transaction(async tx => {
   *   tx.bucket('shop/products').put('jug', { name: 'Jug', price: 12 }, { ifVersion: 'absent' })
   * })
   * console.log((await db.bucket('shop/products').get('jug'))?.price) // 12
   */
  put(id: string, value: T, options: TransactionWriteOptions = {}): Promise<WrittenId> {
    this.#options()
    const text = toJson(value)
    const path = this.#checked(id, options)
    this.#state.write(this.path, id, { path, value: JSON.parse(text) as object }, JSON.parse(text) as object)
    return Promise.resolve({ id })
  }

  /**
   * Creates an object when the transaction commits, under a generated id or under the one given. The commit requires that the id
   * is not in use. Throws VERSION_CONFLICT if the transaction has seen an object with this id.
   *
   * @example
   * const id = await db.transaction(async tx => {
   *   const order = await tx.bucket('shop/orders').create({ product: 'tea', pieces: 2 })
   *   return order.id
   * })
   * console.log((await db.bucket('shop/orders').get(id))?.pieces) // 2
   */
  create(value: T, options: Pick<CreateOptions, 'id' | 'ifVersion'> = {}): Promise<WrittenId> {
    checkCreates(options)
    return this.put(options.id ?? newId(), value, { ifVersion: 'absent' })
  }

  /**
   * Applies a JSON merge patch (RFC 7396) to the object as the transaction sees it. It reads the object first, so await it.
   * Fields that the patch does not name stay as stored. Throws OBJECT_NOT_FOUND if the transaction sees no object.
   *
   * @example
   * await db.transaction(async tx => {
   *   await tx.bucket('shop/products').patch('tea', { price: 5 })
   * })
   * console.log((await db.bucket('shop/products').get('tea'))?.price) // 5
   */
  async patch(id: string, patch: JsonPatch<T>, options: TransactionWriteOptions = {}): Promise<WrittenId> {
    const change = JSON.parse(toJson(patch)) as Record<string, unknown>
    await this.get(id)
    const path = this.#checked(id, options)
    if (this.#state.valueOf(path) === undefined) {
      throw new FreshetError('OBJECT_NOT_FOUND', `There is no ${path} to patch. Use put.`)
    }
    this.#state.patch(path, change)
    return { id }
  }

  /**
   * Deletes an object when the transaction commits. It need not be awaited. Undefined if the transaction has seen that there is
   * no such object.
   *
   * @example
   * await db.transaction(async tx => {
   *   tx.bucket('shop/products').delete('tea')
   * })
   * console.log(await db.bucket('shop/products').get('tea')) // undefined
   */
  delete(id: string, options: TransactionWriteOptions = {}): Promise<WrittenId | undefined> {
    this.#options()
    const path = this.#checked(id, options)
    if (this.#state.knows(path) && this.#state.valueOf(path) === undefined) return Promise.resolve(undefined)
    this.#state.write(this.path, id, { path, delete: true }, undefined)
    return Promise.resolve({ id })
  }

  /** Reads objects at the versions learned from commits, or newer. */
  async #read(ids: readonly string[], options: ReadOptions): Promise<(T | undefined)[]> {
    const found = new Map(zip(ids, await this.#bucket.getMany(ids, options)))
    const outdated = ids.filter(id => this.#learned.isOutdated(this.pathOf(id), versionIn(found.get(id))))
    if (options.read === 'any' && outdated.length > 0) {
      const again = await this.#bucket.getMany(outdated, { ...options, read: 'session' })
      for (const [id, stored] of zip(outdated, again)) found.set(id, stored)
    }
    return ids.map(id => found.get(id))
  }

  async #page(range: ListOptions): Promise<Page<Stored<T>>> {
    const options = this.#options(range)
    const page = await this.#bucket.page({ ...range, ...options })
    const isOutdated = this.#learned.isOutdated(this.path, page.served.version ?? 0)
    return options.read === 'any' && isOutdated ? this.#bucket.page({ ...range, ...options, read: 'session' }) : page
  }

  #takeGiven(id: string): void {
    const path = this.pathOf(id)
    const given = this.#state.given(path)
    if (given === undefined) return
    const { version, value } = given
    const served = { from: 'server', ageS: undefined, at: undefined, version } as const
    const stored = version === 0 ? undefined : attachFacts(value as object, { id, version, served })
    this.#state.read(this.path, id, path, version, stored)
  }

  #checked(id: string, { ifVersion }: TransactionWriteOptions): Path {
    const path = this.pathOf(id)
    if (ifVersion !== undefined) this.#state.require(this.path, id, path, versionNumber(ifVersion))
    return path
  }

  #show(id: string): Stored<T> | undefined {
    return this.#state.show(this.pathOf(id)) as Stored<T> | undefined
  }

  /**
   * Returns as many items as requested, if there are enough, even if the transaction has deleted some of those that the server
   * found. The server's cursors may be sealed, so their places are stored. After an own object, the same page is requested
   * again.
   */
  async #filled<Found extends Page<Stored<T>>>(
    { limit, after: cursor }: Pick<ListOptions, 'limit' | 'after'>,
    { order, isFound, cursorAt, placeAt }: PageOrder,
    read: (after: string | undefined) => Promise<Found>,
  ): Promise<Found> {
    const keyOf = (next: string) => `${this.path} ${JSON.stringify(order)} ${next}`
    const begin = cursor ? (this.#state.cursors.get(keyOf(cursor)) ?? { after: cursor }) : undefined
    const found: Seen[] = []
    for (let after = begin?.after; ; ) {
      const page = await read(after)
      found.push(...this.#take(page.items))
      const own = this.#state.writesTo(this.path)
      const last = page.next === undefined ? undefined : page.items.at(-1)
      const end = last && placeOf(order, { id: idOf(last), value: last })
      const isHere = (object: Seen) =>
        isFound(object) && (!end || comparePlaces(order, placeOf(order, object), end) <= 0)
      const start = begin && (begin.place ?? (own.length > 0 ? placeAt(cursor!) : undefined))
      const items = withOwn(found, own, isHere, order).filter(
        object => !start || comparePlaces(order, placeOf(order, object), start) > 0,
      )
      after = page.next
      if (after !== undefined && items.length < (limit ?? 1)) continue
      const shown = items.slice(0, limit)
      const cut = shown.length < items.length ? shown.at(-1) : undefined
      const next = cut ? cursorAt(cut) : after
      const place = cut ? placeOf(order, cut) : end
      if (next !== undefined) this.#state.cursors.set(keyOf(next), { after: cut ? begin?.after : after, place })
      return { ...page, items: shown.flatMap(({ id }) => this.#show(id) ?? []), next }
    }
  }

  /** The first read counts, also here. */
  #take(items: readonly Stored<T>[]): readonly Seen[] {
    return items.flatMap(stored => {
      const id = idOf(stored)
      this.#state.listed(this.path, id, this.pathOf(id), stored)
      const value = this.#state.valueOf(this.pathOf(id))
      return value === undefined ? [] : [{ id, value }]
    })
  }
}

/** What the server found, with the transaction's own writes added and its deletions removed, in order. */
function withOwn(
  found: readonly Seen[],
  own: ReturnType<TransactionState['writesTo']>,
  isHere: (object: Seen) => boolean,
  order: Order,
): readonly Seen[] {
  if (own.length === 0) return found
  const ids = new Set(own.map(({ id }) => id))
  const written = own.filter((each): each is Seen => each.value !== undefined).filter(isHere)
  return [...found.filter(({ id }) => !ids.has(id)), ...written].sort((a, b) =>
    comparePlaces(order, placeOf(order, a), placeOf(order, b)),
  )
}

/** An empty bound is left out, as for the bucket. */
function rangeOf({ from, to, after, prefix }: ListOptions): IdRange {
  return Object.fromEntries(Object.entries({ from, to, after, prefix }).filter(([, bound]) => bound))
}

function versionIn(stored: object | undefined): Version {
  return stored === undefined ? 0 : versionOf(stored)
}

function zip<Value>(ids: readonly string[], values: readonly Value[]): [string, Value][] {
  return ids.map((id, i) => [id, values[i] as Value])
}
