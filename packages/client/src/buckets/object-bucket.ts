/** A bucket of JSON objects. */
import { FreshetError, type QueryExplanation, type WriteAnswer } from '@freshet/protocol'
import { checkStorable } from '../json/storable.js'
import type { QueryOptions } from '../queries/query-options.js'
import type { QueriedBucket } from '../queries/read-query.js'
import type { ReadOptions } from '../reading/read-options.js'
import type { ReadResult } from '../reading/reader.js'
import type { WriteOptions } from '../writing/write.js'
import { allItems, Bucket, type Page } from './bucket.js'
import { attachFacts, type Facts, type Stored } from './stored.js'

/** A JSON merge patch (RFC 7396) of a T: fields to replace, and null for those to remove. */
export type JsonPatch<T> = {
  readonly [Name in keyof T]?: NonNullable<T[Name]> extends object
    ? JsonPatch<NonNullable<T[Name]>> | T[Name] | null
    : T[Name] | null
}

/** One page of the result of a query, from one state, and what the result depends on. */
export interface QueryResult<Value> extends Page<Value> {
  /** The result changes only if one of these tags changes; undefined: any change in the bucket may change it. */
  readonly dependsOn: readonly string[] | undefined
}

/**
 * A bucket of JSON objects: `db.bucket('shop/products')`. Any cache may answer its reads, and they are as fresh as promised.
 */
export class ObjectBucket<T extends object> extends Bucket<Stored<T>, T> {
  protected readonly kind = 'object'
  protected readonly as = 'text'
  readonly #queried: QueriedBucket = { path: this.path, reader: this.reader, pathOf: id => this.pathOf(id) }

  /**
   * Changes some fields of an object: given fields are replaced, null removes one (JSON merge patch, RFC 7396). Throws
   * OBJECT_NOT_FOUND if there is no such object.
   *
   * @example
   * await db.bucket('shop/products').patch('tea', { price: 5, category: null })
   * console.log(await db.bucket('shop/products').get('tea')) // { name: 'Tea', price: 5 }
   */
  async patch(id: string, patch: JsonPatch<T>, options: WriteOptions = {}): Promise<WriteAnswer> {
    return this.change('PATCH', id, options, toJson(patch), 'application/merge-patch+json')
  }

  /**
   * One page of the objects that match `where`, from one state. A result is as fresh as the read of an object, and caches may
   * answer it. Throws QUERY_INVALID if the query cannot be understood, QUERY_TOO_BROAD if it needs an index.
   *
   * @example
   * const { items } = await db.bucket('shop/products').query({ where: { price: { $lt: 5 } }, sort: '-price', limit: 10 })
   * console.log(items.map(({ id }) => id)) // [ 'tea' ]
   */
  async query(
    options: QueryOptions<T> & { readonly fields?: undefined },
    reading?: ReadOptions,
  ): Promise<QueryResult<Stored<T>>>
  /**
   * The same with only some `fields` of each object.
   *
   * @example
   * const { items } = await db.bucket('shop/products').query({ where: { price: { $lt: 5 } }, fields: ['name'] })
   * console.log(items) // [ { name: 'Tea' } ]
   */
  async query(options: QueryOptions<T>, reading?: ReadOptions): Promise<QueryResult<Stored<Partial<T>>>>
  async query(options: QueryOptions<T>, reading: ReadOptions = {}): Promise<QueryResult<Stored<T>>> {
    const { readQuery } = await import('../queries/read-query.js')
    const { answer, result } = await readQuery(this.#queried, { ...options, ...reading })
    const items = answer.items.map(({ id, version, value }) =>
      this.decodeItem(value, { id, version, served: { ...result.served, version } }),
    )
    return { items, next: answer.next, served: result.served, dependsOn: answer.dependsOn }
  }

  /**
   * All objects that match `where`, page by page. Each page is as fresh as promised; together they are not one state.
   *
   * @example
   * for await (const product of db.bucket('shop/products').queryAll({ where: { category: 'drinks' } })) {
   *   console.log(product.id, product.price) // tea 4
   * }
   */
  queryAll(
    options: QueryOptions<T> & { readonly fields?: undefined },
    reading?: ReadOptions,
  ): AsyncGenerator<Stored<T>, void, undefined>
  /**
   * The same with only some `fields` of each object.
   *
   * @example
   * for await (const product of db.bucket('shop/products').queryAll({ sort: '-price', fields: ['name'] })) {
   *   console.log(product.id, product.name) // mug Mug
   *   break // the rest is not fetched
   * }
   */
  queryAll(options: QueryOptions<T>, reading?: ReadOptions): AsyncGenerator<Stored<Partial<T>>, void, undefined>
  queryAll(options: QueryOptions<T>, reading?: ReadOptions): AsyncGenerator<Stored<Partial<T>>, void, undefined> {
    return allItems(part => this.query(part, reading), options)
  }

  /**
   * How the server executes a query: which index it uses, and how many objects it examines. For admins, on a server with rules.
   *
   * @example
   * const { plan, examined, found } = await db.bucket('shop/products').explain({ where: { category: 'drinks' } })
   * console.log(plan.index, examined, found) // undefined 2 1
   */
  async explain(options: QueryOptions<T>, reading: ReadOptions = {}): Promise<QueryExplanation> {
    const { explainQuery } = await import('../queries/read-query.js')
    return explainQuery(this.#queried, { ...options, ...reading })
  }

  protected decode({ body }: ReadResult, facts: Facts): Stored<T> {
    return this.decodeItem(this.#parse(String(body), facts.id), facts)
  }

  protected decodeItem(value: unknown, facts: Facts): Stored<T> {
    if (typeof value === 'object' && value !== null) return attachFacts(value as T, facts)
    throw notAnObject(this.pathOf(facts.id))
  }

  protected encode(value: T): { body: string; contentType: string } {
    return { body: toJson(value), contentType: 'application/json' }
  }

  #parse(text: string, id: string): unknown {
    try {
      return JSON.parse(text)
    } catch (cause) {
      throw notAnObject(this.pathOf(id), cause)
    }
  }
}

/** Throws TypeError for values that would not be read back unchanged. */
export function toJson(value: unknown): string {
  const text: string | undefined = JSON.stringify(value)
  if (text !== undefined && typeof value === 'object' && value !== null) {
    checkStorable(value, 'the value')
    return text
  }
  throw new TypeError(
    `An object bucket holds objects, not ${value === null ? 'null' : typeof value}. Use db.counter() for numbers, db.kv() for text or bytes.`,
  )
}

function notAnObject(path: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'ANSWER_INVALID',
    `The server returned something that is not a JSON object for ${path}. Use db.kv() for a bucket of bytes, or check proxies in between.`,
    { cause },
  )
}
