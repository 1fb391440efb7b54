/**
 * Operations whose ids other programs made, of which only hashes are remembered (`core/counters/compact-ids.ts`), so their
 * results are not known:
 *
 *     hashes   8: number, big-endian    what one transaction did: double: when | 8 for each operation: its hash
 */
import {
  CompactIds,
  type CompactOptions,
  hasForeignExpired,
  ID_HASH_BYTES,
  type RetentionOptions,
} from '@freshet/core/counters'
import type { Table } from '../environment.js'

export interface CompactRecords {
  readonly hashes: Table<number>
}

const TIME_BYTES = 8

export class CompactOperations {
  readonly #records: CompactRecords
  readonly #ids: CompactIds
  /** For the transaction that is being decided. */
  readonly #decided = new Map<string, Uint8Array>()
  #last = 0
  #count = 0
  #isFull = false

  constructor(records: CompactRecords, options: CompactOptions, { retentionMs }: RetentionOptions) {
    this.#records = records
    this.#ids = new CompactIds(options, retentionMs)
    for (const { key, value } of records.hashes.getRange({ start: 0 })) {
      const timeMs = value.readDoubleLE()
      for (const hash of hashesIn(value)) this.#ids.add(hash, timeMs)
      this.#last = key
      this.#count += countIn(value)
    }
  }

  begin(): void {
    this.#decided.clear()
    this.#isFull = this.#ids.isFull()
  }

  /** How many are remembered. */
  get count(): number {
    return this.#count
  }

  get isFull(): boolean {
    return this.#isFull
  }

  has(id: string, nowMs: number): boolean {
    return this.#decided.has(id) || this.#ids.has(this.#ids.hashOf(id), nowMs)
  }

  add(id: string): void {
    this.#decided.set(id, this.#ids.hashOf(id))
  }

  get hasChanges(): boolean {
    return this.#decided.size > 0
  }

  /** Call within the transaction. */
  apply(nowMs: number): void {
    if (!this.hasChanges) return
    const record = Buffer.allocUnsafe(TIME_BYTES + ID_HASH_BYTES * this.#decided.size)
    let end = record.writeDoubleLE(nowMs)
    for (const hash of this.#decided.values()) {
      record.set(hash, end)
      end += ID_HASH_BYTES
    }
    this.#records.hashes.put(++this.#last, record)
  }

  /** Call after the transaction is done, not earlier: the filter cannot forget what a refused transaction had added. */
  end(nowMs: number): void {
    for (const hash of this.#decided.values()) this.#ids.add(hash, nowMs)
    this.#count += this.#decided.size
    this.#decided.clear()
  }

  /** The expired ones among the oldest `limit` transactions. */
  expired(limit: number, nowMs: number, retention: RetentionOptions): ExpiredHashes {
    const numbers: number[] = []
    let count = 0
    for (const { key, value } of this.#records.hashes.getRange({ start: 0, limit })) {
      if (!hasForeignExpired({ timeMs: value.readDoubleLE() }, nowMs, retention)) break
      numbers.push(key)
      count += countIn(value)
    }
    return { numbers, count }
  }

  /** Call within a transaction. */
  forget({ numbers, count }: ExpiredHashes): void {
    for (const number of numbers) this.#records.hashes.remove(number)
    this.#count -= count
  }

  get memoryBytes(): number {
    return this.#ids.sizeBytes()
  }

  estimatedRate(): number {
    return this.#ids.estimatedRate()
  }
}

export interface ExpiredHashes {
  readonly numbers: readonly number[]
  readonly count: number
}

function countIn(record: Buffer): number {
  return (record.length - TIME_BYTES) / ID_HASH_BYTES
}

function* hashesIn(record: Buffer): Generator<Uint8Array> {
  for (let at = TIME_BYTES; at < record.length; at += ID_HASH_BYTES) yield record.subarray(at, at + ID_HASH_BYTES)
}
