/** Reads a value from the records of LMDB. */
import type { Key, StoredValue } from '@freshet/core/store'
import { decodeValue } from '@freshet/store/records'
import type { ReadOptions, Table } from './environment.js'
import { storeDamaged } from './lmdb-errors.js'

/** Returns a copy. Throws STORE_DAMAGED if the record is damaged. */
export function valueAt(
  path: string,
  values: Table<string>,
  key: Key,
  options: ReadOptions | undefined,
): StoredValue | undefined {
  const buffer = options ? values.getBinaryFast(key, options) : values.getBinaryFast(key)
  if (buffer === undefined) return undefined
  const value = decodeValue(buffer, values.lastSize)
  if (value === undefined) throw storeDamaged(path, `the record of ${JSON.stringify(key)} is not a value`)
  return value
}
