/**
 * Records with a checksum, in every table of the store since format 4:
 *
 *     record    n  the stored bytes
 *               4  checksum (CRC-32, little-endian) of the table's name, the key as LMDB stores it, and the stored bytes
 *
 * So the checksum detects a record with a flipped bit, and also an intact one under another key or in another table.
 */
import type { KeyEncoder, RangeOptions, ReadOptions, Table, TableStats } from '../environment.js'
import { recordDamaged } from '../lmdb-errors.js'
import { addToSum } from './checksum.js'

export const CHECKSUM_BYTES = 4
/** More than LMDB accepts. */
const KEY_BYTES_MAX = 4096

export function seedOf(tableName: string): number {
  const name = Buffer.from(tableName)
  return addToSum(0, name, 0, name.length)
}

/** Whether the first `size` bytes are a record that was written under this key. */
export function isWhole(seed: number, key: Uint8Array, keyBytes: number, record: Uint8Array, size: number): boolean {
  const end = size - CHECKSUM_BYTES
  if (end < 0) return false
  const sum = addToSum(addToSum(seed, key, 0, keyBytes), record, 0, end)
  return (
    record[end] === (sum & 0xff) &&
    record[end + 1] === ((sum >>> 8) & 0xff) &&
    record[end + 2] === ((sum >>> 16) & 0xff) &&
    record[end + 3] === sum >>> 24
  )
}

export interface CheckedTableOptions<K> {
  readonly path: string
  readonly name: string
  readonly keys: KeyEncoder<K>
  /** Allocates the records to be written, which must remain until the transaction is over. */
  readonly allocate: (bytes: number) => Uint8Array
}

/** A table that checks each record when it is read: a damaged one throws STORE_DAMAGED and is never returned. */
export class CheckedTable<K extends string | number | Buffer> implements Table<K> {
  lastSize = 0
  readonly #table: Table<K>
  readonly #options: CheckedTableOptions<K>
  readonly #seed: number
  readonly #key = Buffer.alloc(KEY_BYTES_MAX)

  constructor(table: Table<K>, options: CheckedTableOptions<K>) {
    this.#table = table
    this.#options = options
    this.#seed = seedOf(options.name)
  }

  getBinaryFast(key: K, options?: ReadOptions): Uint8Array | undefined {
    const buffer = this.#table.getBinaryFast(key, options)
    if (buffer === undefined) return undefined
    const { lastSize } = this.#table
    this.#check(key, buffer, lastSize)
    this.lastSize = lastSize - CHECKSUM_BYTES
    return buffer
  }

  get(key: K, options?: ReadOptions): Buffer | undefined {
    const record = this.#table.get(key, options)
    return record && this.#checked(key, record)
  }

  *getRange(options: RangeOptions<K>): Iterable<{ readonly key: K; readonly value: Buffer }> {
    for (const { key, value } of this.#table.getRange(options)) yield { key, value: this.#checked(key, value) }
  }

  getKeys(options: RangeOptions<K>): Iterable<K> {
    return this.#table.getKeys(options)
  }

  getKeysCount(options: RangeOptions<K>): number {
    return this.#table.getKeysCount(options)
  }

  getStats(): TableStats {
    return this.#table.getStats()
  }

  put(key: K, record: Uint8Array, epoch?: number): unknown {
    return this.#table.put(key, this.#sealed(key, record), epoch)
  }

  remove(key: K): unknown {
    return this.#table.remove(key)
  }

  #checked(key: K, record: Buffer): Buffer {
    this.#check(key, record, record.length)
    return record.subarray(0, record.length - CHECKSUM_BYTES)
  }

  #check(key: K, record: Uint8Array, size: number): void {
    const { path, name, keys } = this.#options
    const keyBytes = keys.writeKey(key, this.#key, 0)
    if (!isWhole(this.#seed, this.#key, keyBytes, record, size)) throw recordDamaged(path, name, key)
  }

  #sealed(key: K, record: Uint8Array): Uint8Array {
    const { keys, allocate } = this.#options
    const { length } = record
    const sealed = allocate(length + CHECKSUM_BYTES)
    sealed.set(record)
    const sum = addToSum(addToSum(this.#seed, this.#key, 0, keys.writeKey(key, this.#key, 0)), record, 0, length)
    sealed[length] = sum
    sealed[length + 1] = sum >>> 8
    sealed[length + 2] = sum >>> 16
    sealed[length + 3] = sum >>> 24
    return sealed
  }
}
