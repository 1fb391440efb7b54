/**
 * Adds checksums to the records of a store of an earlier format, in place, when a writer opens it. The records are taken as
 * they are: earlier damage can no longer be distinguished from data.
 *
 * It proceeds table by table, in transactions of a few thousand records. Each transaction also records the progress, so after
 * a crash the upgrade continues from there. From the first transaction on, the store says that it has format 4, which earlier
 * versions refuse to open; only the last transaction gives the record of the format its own checksum, which shows that all
 * records have one.
 */
import {
  KEYS_OF_TABLE,
  type KeyEncoder,
  type MetaTable,
  NAME_OF_TABLE,
  type Table,
  type Tables,
} from '../environment.js'
import { bootId } from '../processes.js'
import { encodeFormat, FORMAT_VERSION } from '../records.js'
import { CheckedTable } from './checked-records.js'

const RECORDS_PER_STEP = 4096
const BYTES_PER_STEP = 16 * 1024 * 1024
/** The progress of the upgrade, in the meta table. */
const CURSOR = 'adding-checksums'
const EPOCH = 0

type AnyTable = Table<string | number | Buffer>
type Transact = <Result>(action: () => Result) => Promise<Result>

interface Cursor {
  readonly table: string
  /** The last key that was done, in hexadecimal; empty: none. */
  readonly key: string
}

/** The tables are LMDB's, unchecked. */
export async function addChecksums(tables: Tables, transact: Transact, mode: 'flushing' | 'relaxed'): Promise<void> {
  const { meta } = tables
  await transact(() => {
    meta.put('format', encodeFormat(FORMAT_VERSION), EPOCH)
    if (mode === 'relaxed') meta.put('relaxed', Buffer.from(bootId()), EPOCH)
  })
  const byName = Object.entries(NAME_OF_TABLE).map(([key, name]) => [name, tables[key as keyof Tables]] as const)
  const others = byName.filter(([name]) => name !== 'meta').map(([name, table]) => ({ name, table: table as AnyTable }))
  for (const { name, table } of others.slice(doneTables(meta, others))) {
    while (await transact(() => addToSome(table, name, meta)));
  }
  await transact(() => addToMeta(meta))
}

function doneTables(meta: MetaTable, tables: readonly { readonly name: string }[]): number {
  const cursor = readCursor(meta)
  return cursor === undefined ? 0 : tables.findIndex(({ name }) => name === cursor.table)
}

/** True if there may be more. */
function addToSome(table: AnyTable, name: string, meta: MetaTable): boolean {
  const keys = KEYS_OF_TABLE[name]!
  const cursor = readCursor(meta)
  const after = cursor?.table === name && cursor.key !== '' ? readKey(keys, cursor.key) : undefined
  const start = after ?? firstKey(name)
  const found: { readonly key: string | number | Buffer; readonly value: Buffer }[] = []
  let bytes = 0
  for (const entry of table.getRange({ start, exclusiveStart: after !== undefined, limit: RECORDS_PER_STEP })) {
    found.push(entry)
    bytes += entry.value.length
    if (bytes >= BYTES_PER_STEP) break
  }
  const checked = new CheckedTable(table, { path: '', name, keys, allocate: Buffer.allocUnsafe })
  for (const { key, value } of found) checked.put(key, value)
  const last = found.at(-1)
  if (last === undefined) return false
  meta.put(CURSOR, Buffer.from(JSON.stringify({ table: name, key: spellKey(keys, last.key) })), EPOCH)
  return true
}

function addToMeta(meta: MetaTable): void {
  meta.remove(CURSOR)
  const checked = new CheckedTable(meta as unknown as Table<string>, {
    path: '',
    name: NAME_OF_TABLE.meta,
    keys: KEYS_OF_TABLE.meta as KeyEncoder<string>,
    allocate: Buffer.allocUnsafe,
  })
  const records = [...meta.getRange({ start: '' })].filter(({ key }) => key !== CURSOR)
  for (const { key, value } of records) checked.put(key, value, EPOCH)
}

function readCursor(meta: MetaTable): Cursor | undefined {
  const record = meta.get(CURSOR)
  return record && (JSON.parse(record.toString()) as Cursor)
}

function firstKey(name: string): string | number | Buffer {
  if (name === 'entries') return Buffer.alloc(1)
  return KEYS_OF_TABLE[name]!.readKey(Buffer.alloc(8), 0, 0) === '' ? '' : 0
}

function spellKey(keys: KeyEncoder<string | number | Buffer>, key: string | number | Buffer): string {
  const bytes = Buffer.alloc(4096)
  return bytes.toString('hex', 0, keys.writeKey(key, bytes, 0))
}

function readKey(keys: KeyEncoder<string | number | Buffer>, text: string): string | number | Buffer {
  const bytes = Buffer.from(text, 'hex')
  return keys.readKey(bytes, 0, bytes.length)
}
