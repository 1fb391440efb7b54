/** The implementation of `Counters`, loaded at its first use. */
import { FreshetError, type WriteAnswer } from '@freshet/protocol'
import { Bucket } from '../buckets/bucket.js'
import type { Facts } from '../buckets/stored.js'
import type { ReadOptions } from '../reading/read-options.js'
import { listRequest } from '../reading/read-request.js'
import type { ReadResult } from '../reading/reader.js'
import {
  type AdditionResult,
  type AdditionsAnswer,
  additionsOf,
  type CounterAddition,
  readResults,
} from '../writing/additions.js'
import type { WriteOptions } from '../writing/write.js'

/** The answer to an addition to a counter. */
export interface AddAnswer extends WriteAnswer {
  /** The counter's value with this addition. */
  readonly value: number
}

/** One of the largest counters of a bucket. */
export interface TopCounter {
  /** The id of the counter in its bucket. */
  readonly id: string
  /** The value of the counter. */
  readonly value: number
}

export interface Totals {
  readonly sum?: number
  readonly items?: readonly TopCounter[]
}

/** The maximum in one request. */
const ADDITIONS_MAX = 1000

export class CounterBucket extends Bucket<number, number> {
  protected readonly kind = 'counter'
  protected readonly as = 'text'

  add(id: string, by: number, options: WriteOptions): Promise<AddAnswer> {
    return this.change<AddAnswer>('POST', id, options, JSON.stringify({ add: checked(by) }), 'application/json')
  }

  async addMany(additions: readonly CounterAddition[], options: WriteOptions): Promise<AdditionResult[]> {
    for (const { id, by = 1 } of additions) {
      this.pathOf(id)
      checked(by)
    }
    const results: AdditionResult[] = []
    for (let start = 0; start < additions.length; start += ADDITIONS_MAX) {
      const part = additions.slice(start, start + ADDITIONS_MAX)
      const operations = part.map(() => this.writer.ids.begin())
      const write = additionsOf(this.path, id => this.pathOf(id), part, operations)
      results.push(...readResults(await this.writer.write<AdditionsAnswer>(write, options)))
    }
    return results
  }

  async totals(parameters: Readonly<Record<string, string>>, options: ReadOptions): Promise<Totals> {
    const result = await this.reader.read(listRequest(this.path, parameters), options)
    this.reader.showList(result.served.version ?? result.position)
    // There is no such bucket: nothing was added to it.
    return result.served.version === undefined ? { sum: 0, items: [] } : (JSON.parse(String(result.body)) as Totals)
  }

  override put(id: string, value: number, options: WriteOptions = {}): Promise<WriteAnswer> {
    return super.put(id, checked(value), options)
  }

  protected decode({ body }: ReadResult, { id }: Facts): number {
    return this.#toNumber(String(body), id)
  }

  protected decodeItem(value: unknown, { id }: Facts): number {
    return this.#toNumber(JSON.stringify(value), id)
  }

  protected encode(value: number): { body: string; contentType: string } {
    return { body: `${value}`, contentType: 'application/json' }
  }

  #toNumber(text: string, id: string): number {
    const value = text.trim() === '' ? Number.NaN : Number(text)
    if (Number.isFinite(value)) return value
    throw new FreshetError(
      'ANSWER_INVALID',
      `The server returned something that is not a number for ${this.pathOf(id)}. Use db.bucket() or db.kv() for a bucket without counters.`,
    )
  }
}

function checked(value: number): number {
  if (Number.isFinite(value)) return value
  throw new TypeError(
    `A counter takes a finite number, not ${typeof value === 'number' ? value : typeof value}. Convert text with Number(text).`,
  )
}
