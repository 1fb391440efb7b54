/**
 * A bucket of counters: numbers that many clients add to at once, without reading them first. An addition that has to be sent
 * twice counts once. Reads are as fresh as those of any object, and caches answer them.
 */
import { type BucketAnswer, parseBucketName, type WriteAnswer } from '@freshet/protocol'
import type { BucketParts } from '../buckets/bucket.js'
import type { ReadOptions } from '../reading/read-options.js'
import type { AdditionResult, CounterAddition } from '../writing/additions.js'
import type { WriteOptions } from '../writing/write.js'
import type { AddAnswer, CounterBucket, TopCounter } from './counter-bucket.js'

/** The bounds of the counters of a bucket, and how long caches may keep them. */
export interface CounterSettings {
  /** How many decimals counters have; default 0, at most 9. */
  readonly decimals?: number
  /** The lowest value of each counter. An addition below it is refused with COUNTER_OUT_OF_BOUNDS. */
  readonly min?: number
  /** The highest value of each counter. An addition above it is refused with COUNTER_OUT_OF_BOUNDS. */
  readonly max?: number
  /** How long caches may keep a counter, in milliseconds; default: the lifetime of the server. */
  readonly lifetimeMs?: number
}

/** Options of an addition. There is no `ifVersion`: many clients may add at once. */
export type AddOptions = Omit<WriteOptions, 'ifVersion'>

/**
 * A bucket of counters: `db.counter('shop/views')`. Many clients may add at once, and an addition that has to be sent twice
 * counts once.
 */
export class Counters {
  /** Such as `shop/views`. */
  readonly name: string
  readonly #load: () => Promise<CounterBucket>

  constructor(name: string, parts: BucketParts) {
    parseBucketName(name)
    this.name = name
    this.#load = async () => new (await import('./counter-bucket.js')).CounterBucket(name, parts)
  }

  /**
   * Reads a counter; 0 if nothing was ever added to it.
   *
   * @example
   * console.log(await db.counter('shop/views').get('tea')) // 3
   */
  async get(id: string, options: ReadOptions = {}): Promise<number> {
    return (await (await this.#load()).get(id, options)) ?? 0
  }

  /**
   * Reads several counters, in the order of `ids`. Each is as fresh as promised; they may be from different states.
   *
   * @example
   * console.log(await db.counter('shop/views').getMany(['tea', 'jug'])) // [ 3, 0 ]
   */
  async getMany(ids: readonly string[], options: ReadOptions = {}): Promise<number[]> {
    return (await (await this.#load()).getMany(ids, options)).map(value => value ?? 0)
  }

  /**
   * The sum of all counters of the bucket, from one state.
   *
   * @example
   * console.log(await db.counter('shop/views').sum()) // 4
   */
  async sum(options: ReadOptions = {}): Promise<number> {
    return (await (await this.#load()).totals({ sum: '' }, options)).sum!
  }

  /**
   * The largest counters, from one state.
   *
   * @example
   * console.log(await db.counter('shop/views').top(1)) // [ { id: 'tea', value: 3 } ]
   */
  async top(count = 10, options: ReadOptions = {}): Promise<readonly TopCounter[]> {
    return (await (await this.#load()).totals({ top: `${count}` }, options)).items!
  }

  /**
   * Adds to a counter. Counts once, however often it has to be sent. Throws COUNTER_OUT_OF_BOUNDS.
   *
   * @example
   * const { value } = await db.counter('shop/views').add('tea')
   * console.log(value) // 4
   * await db.counter('shop/views').add('tea', -2)
   */
  async add(id: string, by = 1, options: AddOptions = {}): Promise<AddAnswer> {
    return (await this.#load()).add(id, by, options)
  }

  /**
   * Adds to many counters in few requests. Each addition is done or refused separately, and counts once.
   *
   * @example
   * const results = await db.counter('shop/views').addMany([{ id: 'tea', by: 2 }, { id: 'mug' }])
   * console.log(results.map(result => ('error' in result ? result.error.code : result.value))) // [ 5, 2 ]
   */
  async addMany(additions: readonly CounterAddition[], options: AddOptions = {}): Promise<AdditionResult[]> {
    return (await this.#load()).addMany(additions, options)
  }

  /**
   * Sets a counter to this number, whatever was added before. With `ifVersion`, only if it still has that version.
   *
   * @example
   * await db.counter('shop/views').set('tea', 100)
   * console.log(await db.counter('shop/views').get('tea')) // 100
   */
  async set(id: string, value: number, options: WriteOptions = {}): Promise<WriteAnswer> {
    return (await this.#load()).put(id, value, options)
  }

  /**
   * Deletes a counter; undefined if there was nothing to delete.
   *
   * @example
   * await db.counter('shop/views').delete('tea')
   * console.log(await db.counter('shop/views').get('tea')) // 0
   */
  async delete(id: string, options: WriteOptions = {}): Promise<WriteAnswer | undefined> {
    return (await this.#load()).delete(id, options)
  }

  /**
   * Creates the bucket, which is needed once, or changes its bounds.
   *
   * @example
   * import { FreshetError } from '@freshet/client'
   *
   * await db.counter('shop/stock').configure({ min: 0 })
   * await db.counter('shop/stock').add('tea', 5)
   * try {
   *   await db.counter('shop/stock').add('tea', -6)
   * } catch (error) {
   *   if (error instanceof FreshetError) console.log(error.code) // COUNTER_OUT_OF_BOUNDS
   * }
   */
  async configure(settings: CounterSettings = {}, options: AddOptions = {}): Promise<BucketAnswer> {
    return (await this.#load()).configure(settings, options)
  }
}
