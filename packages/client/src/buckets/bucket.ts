/** What buckets of both kinds can do. The subclass decides how a value looks to the caller, and on the wire. */
import {
  type BucketAnswer,
  type BucketChange,
  type BucketSettings,
  type BucketSettingsAnswer,
  FreshetError,
  formatEtag,
  type ListItem,
  type ListPage,
  type Path,
  parseBucketName,
  pathInBucket,
  pathOfKey,
  type Version,
  type WriteAnswer,
} from '@freshet/protocol'
import { JSON_HEADERS } from '../http/transport.js'
import { checkStorable } from '../json/storable.js'
import type { ReadOptions } from '../reading/read-options.js'
import { listRequest, objectRequest, type ReadRequest, spellValue } from '../reading/read-request.js'
import type { Reader, ReadResult } from '../reading/reader.js'
import type { Served } from '../reading/served.js'
import type { WriteOptions } from '../writing/write.js'
import type { Writer } from '../writing/writer.js'
import type { Facts } from './stored.js'

/** Bounds of a list, by id: `from` and `prefix` are inclusive, `to` and `after` exclusive. */
export interface ListOptions extends ReadOptions {
  /** At most how many objects; for `list`, in each request. The server has its own limit, 1000 by default. */
  readonly limit?: number
  /** Only ids after this one: the `next` of the previous page. */
  readonly after?: string
  /** Only this id and those after it. */
  readonly from?: string
  /** Only ids before this one. */
  readonly to?: string
  /** Only ids that begin with this. */
  readonly prefix?: string
}

/** A part of what a bucket holds or a query finds, and where the next part begins. */
export interface Page<Value> {
  /** The objects of this page, in order. */
  readonly items: readonly Value[]
  /** Pass it as `after` to get the next page; undefined on the last. */
  readonly next: string | undefined
  /** Which cache or server answered. */
  readonly served: Served
}

/** An object without its value. */
export interface IdAndVersion {
  /** The id of the object in its bucket. */
  readonly id: string
  /** Grows with every write of the object. */
  readonly version: Version
}

/** Changes to the settings of a bucket: given settings are set, null removes one, all others stay. */
export type SettingsChange = { readonly [Name in keyof BucketChange]?: BucketChange[Name] | null }

/** Options of `create`. */
export interface CreateOptions extends WriteOptions {
  /** Use this id instead of one that the server generates. */
  readonly id?: string
  /** For bytes: what they are, such as `image/png`. */
  readonly contentType?: string
}

/** Options of `put`. */
export interface PutOptions extends WriteOptions {
  /** For bytes: what they are, such as `image/png`. */
  readonly contentType?: string
}

export interface BucketParts {
  readonly reader: Reader
  readonly writer: Writer
}

/** How many ids `getMany` puts into one request: the URL must not get too long for any proxy on the way. */
const IDS_LENGTH_MAX = 1800
const IDS_MAX = 100

/** What buckets of objects and of bytes have in common. Get one with `db.bucket(name)` or `db.kv(name)`. */
export abstract class Bucket<Value, Input> {
  readonly #parts: BucketParts
  /** Such as `shop/products`. */
  readonly name: string
  /** The path in URLs: `/db/shop/products`. */
  readonly path: Path

  constructor(name: string, parts: BucketParts) {
    parseBucketName(name)
    this.name = name
    this.path = pathOfKey(name)
    this.#parts = parts
  }

  protected abstract readonly kind: BucketSettings['kind']
  protected abstract readonly as: ReadRequest['as']
  protected abstract decode(result: ReadResult, facts: Facts): Value
  protected abstract decodeItem(item: unknown, facts: Facts): Value
  protected abstract encode(
    input: Input,
    contentType?: string,
  ): { body: string | Uint8Array<ArrayBuffer>; contentType: string }

  protected get reader(): Reader {
    return this.#parts.reader
  }

  protected get writer(): Writer {
    return this.#parts.writer
  }

  /**
   * The path of an object in URLs. Throws NAME_INVALID.
   *
   * @example
   * console.log(db.bucket('shop/products').pathOf('green tea')) // /db/shop/products/green%20tea
   */
  pathOf(id: string): Path {
    return pathInBucket(this.path, id)
  }

  /**
   * Reads an object; undefined if it does not exist. The nearest cache may answer; `read` says how fresh the answer must be.
   *
   * @example
   * const tea = await db.bucket('shop/products').get('tea')
   * console.log(tea?.name, tea?.price) // Tea 4
   *
   * const now = await db.bucket('shop/products').get('tea', { read: 'current' }) // asks the server
   */
  async get(id: string, options: ReadOptions = {}): Promise<Value | undefined> {
    const request = objectRequest(this.pathOf(id), this.as)
    const result = this.#parts.reader.fromMemory(request, options) ?? (await this.#parts.reader.read(request, options))
    return this.#decode(id, result)
  }

  /**
   * Reads several objects, in the order of `ids`; undefined for missing ones. Each is as fresh as promised; they may be from
   * different states. A few requests fetch all of them, however many there are.
   *
   * @example
   * const [tea, jug] = await db.bucket('shop/products').getMany(['tea', 'jug'])
   * console.log(tea?.price, jug) // 4 undefined
   */
  async getMany(ids: readonly string[], options: ReadOptions = {}): Promise<(Value | undefined)[]> {
    checkIds(ids)
    const found = new Map<string, Value | undefined>()
    const missing: string[] = []
    for (const id of new Set(ids)) {
      const result = this.#parts.reader.fromMemory(objectRequest(this.pathOf(id), this.as), options)
      if (result) found.set(id, this.#decode(id, result))
      else missing.push(id)
    }
    const parts = partsOf(missing).map(part => this.#getPart(part, options))
    for (const part of await Promise.all(parts)) for (const [id, value] of part) found.set(id, value)
    return ids.map(id => found.get(id))
  }

  /**
   * Reads one page of the bucket, in the order of ids and from one state. `list` reads all pages.
   *
   * @example
   * const products = db.bucket('shop/products')
   * const first = await products.page({ limit: 1 })
   * console.log(first.items.map(({ name }) => name)) // [ 'Mug' ]
   * if (first.next) {
   *   const second = await products.page({ limit: 1, after: first.next })
   *   console.log(second.items.map(({ name }) => name)) // [ 'Tea' ]
   * }
   */
  async page(options: ListOptions = {}): Promise<Page<Value>> {
    const { page, result } = await this.#readPage(options, true)
    const items = page.items.map(({ id, version, value }) =>
      this.decodeItem(value, { id, version, served: { ...result.served, version } }),
    )
    return { items, next: page.next, served: result.served }
  }

  /**
   * Reads the whole bucket, page by page. Each page is as fresh as promised when it is read, so together they are not one state.
   *
   * @example
   * for await (const product of db.bucket('shop/products').list({ prefix: 't' })) {
   *   console.log(product.id, product.price) // tea 4
   * }
   */
  list(options: ListOptions = {}): AsyncGenerator<Value, void, undefined> {
    return allItems(part => this.page(part), options)
  }

  /**
   * Like `list`, without the values.
   *
   * @example
   * for await (const { id, version } of db.bucket('shop/products').ids({ from: 'n' })) {
   *   console.log(id, version > 0) // tea true
   * }
   */
  ids(options: ListOptions = {}): AsyncGenerator<IdAndVersion, void, undefined> {
    return allItems(async part => {
      const { items, next } = (await this.#readPage(part, false)).page
      return { items: items.map(({ id, version }) => ({ id, version })), next }
    }, options)
  }

  /**
   * Replaces or creates an object. With `ifVersion`, only if the object still has that version; otherwise it throws
   * VERSION_CONFLICT, and nothing is written.
   *
   * @example
   * const products = db.bucket('shop/products')
   * await products.put('jug', { name: 'Jug', price: 12 })
   *
   * const tea = await products.get('tea')
   * if (tea) await products.put('tea', { ...tea, price: 5 }, { ifVersion: tea.version })
   * console.log((await products.get('tea'))?.price) // 5
   */
  async put(id: string, input: Input, options: PutOptions = {}): Promise<WriteAnswer> {
    const { body, contentType } = this.encode(input, options.contentType)
    return this.change('PUT', id, options, body, contentType)
  }

  /**
   * Creates an object, under an id that the server generates or under the one given. Throws VERSION_CONFLICT if the id is in use.
   *
   * @example
   * const { id } = await db.bucket('shop/orders').create({ product: 'tea', pieces: 2 })
   * console.log(await db.bucket('shop/orders').get(id)) // { product: 'tea', pieces: 2 }
   *
   * await db.bucket('shop/orders').create({ product: 'mug', pieces: 1 }, { id: 'order-7' })
   */
  async create(input: Input, options: CreateOptions = {}): Promise<WriteAnswer> {
    const { id: given } = options
    checkCreates(options)
    if (given !== undefined) return this.put(given, input, { ...options, ifVersion: 'absent' })
    const { body, contentType } = this.encode(input, options.contentType)
    const request = { method: 'POST', target: this.path, headers: { 'content-type': contentType }, body } as const
    const createdPath = (id: string) => this.pathOf(id)
    const answer = await this.#parts.writer.write<WriteAnswer>({ request, paths: [this.path], createdPath }, options)
    this.#parts.reader.show(this.pathOf(answer.id), answer.version)
    return answer
  }

  /**
   * Deletes an object; undefined if there was nothing to delete.
   *
   * @example
   * const deleted = await db.bucket('shop/products').delete('mug')
   * console.log(deleted?.id, await db.bucket('shop/products').get('mug')) // mug undefined
   */
  async delete(id: string, options: WriteOptions = {}): Promise<WriteAnswer | undefined> {
    try {
      return await this.change('DELETE', id, options)
    } catch (error) {
      if (error instanceof FreshetError && error.code === 'OBJECT_NOT_FOUND') return undefined
      throw error
    }
  }

  /**
   * The settings of the bucket; undefined if it does not exist. For admins, on a server with rules.
   *
   * @example
   * const settings = await db.bucket('shop/products').settings()
   * console.log(settings?.kind, settings?.lifetimeMs ?? 'the lifetime of the server') // object the lifetime of the server
   */
  async settings(options: Omit<ReadOptions, 'read'> = {}): Promise<BucketSettingsAnswer | undefined> {
    // No cache may store the answer, and the server answers as of the end of the log, so there is nothing to check.
    const result = await this.reader.read(listRequest(this.path, { settings: '' }), { ...options, read: 'any' })
    return result.served.version === undefined ? undefined : (JSON.parse(String(result.body)) as BucketSettingsAnswer)
  }

  /**
   * Changes the settings of the bucket; creates it if needed. Settings that are not given stay; null removes one.
   * Throws SCHEMA_INVALID, SCHEMA_MISFIT. If the answer has a `task`, the rest happens in the background.
   *
   * @example
   * await db.bucket('shop/products').configure({
   *   lifetimeMs: 10_000, // caches keep its objects for ten seconds
   *   indexes: [{ name: 'by-category', fields: ['category', 'price'] }],
   *   schema: { required: ['name', 'price'], properties: { price: { type: 'number', minimum: 0 } } },
   * })
   * await db.bucket('shop/products').configure({ schema: null }) // removes the schema and keeps the rest
   */
  async configure(settings: SettingsChange, options: Omit<WriteOptions, 'ifVersion'> = {}): Promise<BucketAnswer> {
    for (const [name, value] of Object.entries(settings)) if (value !== undefined) checkStorable(value, name)
    const body = JSON.stringify({ kind: this.kind, ...settings })
    const request = { method: 'PATCH', target: this.path, headers: JSON_HEADERS, body } as const
    // Repeating a change of settings does no harm; repeating a migration would.
    const write = { request, paths: [this.path], operations: [], isIdempotent: !settings.migration }
    return this.#parts.writer.write(write, options)
  }

  protected change<Answer extends WriteAnswer = WriteAnswer>(
    method: 'PUT' | 'POST' | 'PATCH' | 'DELETE',
    id: string,
    options: WriteOptions,
    body?: string | Uint8Array<ArrayBuffer>,
    contentType?: string,
  ): Promise<Answer> {
    const path = this.pathOf(id)
    const headers = { ...conditionOf(options), ...(contentType === undefined ? {} : { 'content-type': contentType }) }
    const request = { method, target: path, headers, ...(body === undefined ? {} : { body }) }
    const deleted = method === 'DELETE' ? [path] : []
    return this.#parts.writer.write({ request, paths: [path, this.path], deleted }, options)
  }

  #decode(id: string, result: ReadResult): Value | undefined {
    const { version } = result.served
    return version === undefined ? undefined : this.decode(result, { id, version, served: result.served })
  }

  async #getPart(ids: readonly string[], options: ReadOptions): Promise<[string, Value | undefined][]> {
    const [first] = ids
    if (ids.length === 1 && first !== undefined) return [[first, await this.get(first, options)]]
    const paths = ids.map(id => this.pathOf(id))
    const spelled = ids.map(spellValue).join(',')
    const result = await this.#parts.reader.read(listRequest(this.path, { ids: spelled, embed: '' }, paths), options)
    const { items } = readPage(result)
    return ids.map((id, i) => [id, this.#takeItem(id, items[i], result)])
  }

  #takeItem(id: string, item: ListItem | undefined, result: ReadResult): Value | undefined {
    const { served, position } = result
    this.#parts.reader.recordItem(this.pathOf(id), item?.version ?? 0, result)
    if (item === undefined || item.version === 0) {
      this.#parts.reader.show(this.pathOf(id), position)
      return undefined
    }
    const { version } = item
    this.#parts.reader.show(this.pathOf(id), version)
    return this.decodeItem(item.value, { id, version, served: { ...served, version } })
  }

  async #readPage(options: ListOptions, embeds: boolean): Promise<{ page: ListPage; result: ReadResult }> {
    const { limit, after, from, to, prefix } = options
    const request = listRequest(this.path, {
      after: spelled(after),
      embed: embeds ? '' : undefined,
      from: spelled(from),
      limit: limit === undefined ? undefined : `${limit}`,
      prefix: spelled(prefix),
      to: spelled(to),
    })
    const { reader } = this.#parts
    const result = reader.fromMemory(request, options) ?? (await reader.read(request, options))
    const page = readPage(result)
    reader.showPage(page.items, id => this.pathOf(id), result)
    return { page, result }
  }
}

/** The items on the pages of a list or a query, one after the other. */
export async function* allItems<Value, Options extends { readonly after?: string }>(
  read: (options: Options) => Promise<Omit<Page<Value>, 'served'>>,
  options: Options,
): AsyncGenerator<Value, void, undefined> {
  for (let part = options; ; ) {
    const { items, next } = await read(part)
    yield* items
    if (next === undefined) return
    part = { ...options, after: next }
  }
}

function conditionOf({ ifVersion }: WriteOptions): Record<string, string> {
  if (ifVersion === undefined) return {}
  if (ifVersion === 'absent' || ifVersion === 0) return { 'if-none-match': '*' }
  if (Number.isSafeInteger(ifVersion)) return { 'if-match': formatEtag(ifVersion) }
  throw new FreshetError(
    'OPTIONS_INVALID',
    `ifVersion must be a version (a whole number) or 'absent', not ${JSON.stringify(ifVersion)}. If the object has a ` +
      'field of its own called version, use versionOf(object).',
  )
}

/** JavaScript callers may pass one id, whose characters would be taken for ids. */
export function checkIds(ids: unknown): void {
  if (!Array.isArray(ids)) throw new TypeError('getMany takes a list of ids. Use get for one id.')
}

/** Throws OPTIONS_INVALID. */
export function checkCreates({ ifVersion = 'absent' }: WriteOptions): void {
  if (ifVersion === 'absent' || ifVersion === 0) return
  throw new FreshetError('OPTIONS_INVALID', `create takes no ifVersion other than 'absent', not ${ifVersion}. Use put.`)
}

/** An empty bound is left out: the server takes no empty parameter. */
function spelled(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : spellValue(text)
}

function partsOf(ids: readonly string[]): string[][] {
  const parts: string[][] = []
  let length = 0
  for (const id of ids) {
    const part = parts.at(-1)
    length += spellValue(id).length + 1
    if (part && length <= IDS_LENGTH_MAX && part.length < IDS_MAX) part.push(id)
    else {
      parts.push([id])
      length = spellValue(id).length + 1
    }
  }
  return parts
}

function readPage({ body, served }: ReadResult): ListPage {
  // A bucket that does not exist is empty.
  if (served.version === undefined) return { items: [] }
  try {
    const page = JSON.parse(String(body)) as ListPage
    if (Array.isArray(page.items)) return page
  } catch {
    // Not JSON: reported below.
  }
  throw new FreshetError(
    'ANSWER_INVALID',
    'The server returned something that is not a list. Check for proxies on the way to the server.',
  )
}
