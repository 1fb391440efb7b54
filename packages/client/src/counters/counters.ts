/**
 * A bucket of counters: numbers that many add to at once, without reading them first, and without counting twice what had
 * to be sent twice. Reads are as fresh as those of any object, and caches answer them.
 */
import { type BucketAnswer, parseBucketName, type WriteAnswer } from '@freshet/protocol'
import type { BucketParts } from '../buckets/bucket.js'
import type { ReadOptions } from '../reading/read-options.js'
import type { AdditionResult, CounterAddition } from '../writing/additions.js'
import type { WriteOptions } from '../writing/write.js'
import type { AddAnswer, CounterBucket, TopCounter } from './counter-bucket.js'

/** How the counters of a bucket count, and how long caches may keep them. */
export interface CounterSettings {
  /** How many digits counters have after the point; 0 unless given, at most 9. */
  readonly decimals?: number
  /** What none of them may go below, or above: COUNTER_OUT_OF_BOUNDS. */
  readonly min?: number
  readonly max?: number
  readonly lifetimeMs?: number
}

/** How an addition is done. There is no `ifVersion`: many may add at once. */
export type AddOptions = Omit<WriteOptions, 'ifVersion'>

/**
 * A bucket of counters: `db.counter('shop/views')`. Many add to them at once, and what had to be sent twice counts
 * once.
 */
export class Counters {
  /** As `shop/views`. */
  readonly name: string
  readonly #load: () => Promise<CounterBucket>

  constructor(name: string, parts: BucketParts) {
    parseBucketName(name)
    this.name = name
    this.#load = async () => new (await import('./counter-bucket.js')).CounterBucket(name, parts)
  }

  /** 0 if nothing was ever added to it. */
  async get(id: string, options: ReadOptions = {}): Promise<number> {
    return (await (await this.#load()).get(id, options)) ?? 0
  }

  /** In the order asked for. Each is as fresh as promised; not all from one state. */
  async getMany(ids: readonly string[], options: ReadOptions = {}): Promise<number[]> {
    return (await (await this.#load()).getMany(ids, options)).map(value => value ?? 0)
  }

  /** Of all counters of the bucket, from one state. */
  async sum(options: ReadOptions = {}): Promise<number> {
    return (await (await this.#load()).totals({ sum: '' }, options)).sum!
  }

  /** The largest, from one state. */
  async top(count = 10, options: ReadOptions = {}): Promise<readonly TopCounter[]> {
    return (await (await this.#load()).totals({ top: `${count}` }, options)).items!
  }

  /** Counts once, however often it had to be sent. COUNTER_OUT_OF_BOUNDS. */
  async add(id: string, by = 1, options: AddOptions = {}): Promise<AddAnswer> {
    return (await this.#load()).add(id, by, options)
  }

  /** In few requests. Each addition is done or not by itself, and counts once. */
  async addMany(additions: readonly CounterAddition[], options: AddOptions = {}): Promise<AdditionResult[]> {
    return (await this.#load()).addMany(additions, options)
  }

  /** Makes it this number, whatever was added before. With `ifVersion`, only if nobody has added meanwhile. */
  async set(id: string, value: number, options: WriteOptions = {}): Promise<WriteAnswer> {
    return (await this.#load()).put(id, value, options)
  }

  /** Undefined if there was nothing to delete. */
  async delete(id: string, options: WriteOptions = {}): Promise<WriteAnswer | undefined> {
    return (await this.#load()).delete(id, options)
  }

  /** Creates the bucket, which is needed once; or sets its bounds anew. */
  async configure(settings: CounterSettings = {}, options: AddOptions = {}): Promise<BucketAnswer> {
    return (await this.#load()).configure(settings, options)
  }
}
