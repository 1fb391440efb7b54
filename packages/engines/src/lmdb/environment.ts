/**
 * LMDB as this store uses it: thirteen tables, opened with the settings that were soaked (docs/decisions/0004). What its type
 * declarations leave out or leave open is declared here, once. Every record that is read has passed its checksum.
 */
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { addChecksums } from './integrity/add-checksums.js'
import { CheckedTable } from './integrity/checked-records.js'
import { byteKeys, positionKeys, textKeys } from './key-encodings.js'
import { RecordArena } from './record-arena.js'
import { hasChecksums } from './records.js'

export const DATA_FILE = 'data.mdb'
/** Where LMDB keeps which processes read. */
export const LOCK_TABLE = 'data.mdb-lock'

/**
 * Address space, not memory or disk. LMDB enlarges its map by itself when it must; with so much of it, it need not, in
 * any of the processes that share it.
 */
const MAP_BYTES = 2 ** 36
const READERS_MAX = 1000

export interface KeyEncoder<K> {
  /** Returns where the key ends. */
  writeKey(key: K, target: Buffer, start: number): number
  readKey(source: Buffer, start: number, end: number): K
}

/** A state of all tables, held until `done`. */
export interface ReadTransaction {
  done(): void
}

export interface ReadOptions {
  readonly transaction?: ReadTransaction | undefined
}

export interface RangeOptions<K> extends ReadOptions {
  readonly start: K
  readonly end?: K | undefined
  readonly exclusiveStart?: boolean
  readonly inclusiveEnd?: boolean
  /** From the start, which is then the higher end, down to the end. */
  readonly reverse?: boolean
  readonly limit?: number
}

export interface Table<K> {
  /** The record's bytes are at the beginning, `lastSize` of them, in a buffer that the next read overwrites. */
  getBinaryFast(key: K, options?: ReadOptions): Uint8Array | undefined
  readonly lastSize: number
  get(key: K, options?: ReadOptions): Buffer | undefined
  getRange(options: RangeOptions<K>): Iterable<{ readonly key: K; readonly value: Buffer }>
  getKeys(options: RangeOptions<K>): Iterable<K>
  /** Changes the options it is given. */
  getKeysCount(options: RangeOptions<K>): number
  getStats(): TableStats
  /** Only within `write` and `transaction`. The promises they return say nothing more than those two do. */
  put(key: K, record: Uint8Array, epoch?: number): unknown
  remove(key: K): unknown
}

export interface TableStats {
  readonly entryCount: number
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** Each record has the epoch that wrote it; those of other tables have none. */
export interface MetaTable extends Omit<Table<string>, 'put'> {
  put(key: string, record: Uint8Array, epoch: number): unknown
}

export interface Tables {
  readonly values: Table<string>
  readonly buckets: Table<string>
  readonly log: Table<number>
  readonly memory: Table<string>
  readonly indexes: Table<string>
  readonly entries: Table<Buffer>
  readonly tags: Table<string>
  readonly clients: Table<string>
  readonly journal: Table<number>
  readonly operations: Table<string>
  readonly hashes: Table<number>
  readonly operationTimes: Table<number>
  readonly meta: MetaTable
}

export interface Environment extends Tables {
  /**
   * Does what the action puts and removes in one transaction, on another thread, if the head still has this epoch; else
   * does nothing. Resolves, when it is on disk, to whether it did; when it is relaxed, as soon as this process is no longer
   * needed for it. Others see the outcome a little earlier than that. What the action reads is the state before.
   *
   * If the action throws, so does this, and what it had put by then may be committed.
   */
  write(epoch: number, action: () => void): Promise<boolean>
  /** Runs the action in a write transaction, on this thread: it reads what it writes. Resolves when it is on disk. */
  transaction<Result>(action: () => Result): Promise<Result>
  /** The next read sees the latest state; without it, reads of one turn of the event loop share one. */
  refresh(): void
  /** Holds the state that the next read would see. */
  useReadTransaction(): ReadTransaction
  /** Writes to disk what is not there yet, on another thread. */
  flush(): Promise<void>
  /** Frees what processes that were killed had held. Returns how many there were. */
  readerCheck(): number
  close(): Promise<void>
}

export interface EnvironmentOptions {
  readonly path: string
  readonly mode: 'flushing' | 'relaxed' | 'reading'
  /** Looks at the meta table, if there is one, before anything is written. Throws to keep it from being opened. */
  readonly inspect: (meta: MetaTable | undefined) => void
}

export async function openEnvironment({ path, mode, inspect }: EnvironmentOptions): Promise<Environment> {
  const options = {
    path: join(path, DATA_FILE),
    noSubdir: true,
    encoding: 'binary' as const,
    maxDbs: 16,
    maxReaders: READERS_MAX,
    mapSize: MAP_BYTES,
    readOnly: mode === 'reading',
    // Our own queue does the batching. LMDB's would also leave a rejected promise behind, unseen, when the disk is
    // full, and Node would end the process over it.
    eventTurnBatching: false,
    // Without this it flushes while the next transaction may begin (its "overlapping sync"): the mode that was soaked.
    noSync: mode === 'relaxed',
  }
  const root = open(options)
  try {
    const before = openTable(root, 'meta', { create: false }) as unknown as MetaTable | undefined
    const isChecked = before === undefined || hasChecksums(before.get('format'))
    const arena = new RecordArena()
    const check: Check = (table, name) =>
      new CheckedTable(table, { path, name, keys: KEYS_OF_TABLE[name]!, allocate: arena.allocate })
    inspect(isChecked ? before && (check(before as never, 'meta') as unknown as MetaTable) : before)
    const tables = openTables(root)
    if (!isChecked && mode !== 'reading') await addChecksums(tables, action => root.transaction(action), mode)
    const checked = isChecked || mode !== 'reading' ? checkTables(tables, check) : tables
    return {
      ...checked,
      write(epoch, action) {
        // One transaction at a time: the records of the one before are on disk.
        arena.clear()
        return (tables.meta as ConditionalTable).ifVersion('head', epoch, action)
      },
      transaction(action) {
        arena.clear()
        return root.transaction(action)
      },
      refresh: () => root.resetReadTxn(),
      useReadTransaction: () => root.useReadTransaction() as ReadTransaction,
      flush: () => flush(root),
      readerCheck: () => root.readerCheck(),
      close: () => root.close(),
    }
  } catch (error) {
    await root.close()
    throw error
  }
}

/** A method that lmdb has but does not declare. */
function flush(root: RootDatabase): Promise<void> {
  const { sync } = root as unknown as { sync(done: (error?: Error) => void): void }
  return new Promise((resolve, reject) => sync.call(root, error => (error ? reject(error) : resolve())))
}

interface ConditionalTable extends MetaTable {
  ifVersion(key: string, version: number, action: () => void): Promise<boolean>
}

/** The name of each table in the file. */
export const NAME_OF_TABLE: Readonly<Record<keyof Tables, string>> = {
  values: 'values',
  buckets: 'buckets',
  log: 'log',
  memory: 'memory',
  indexes: 'indexes',
  entries: 'entries',
  tags: 'tags',
  clients: 'client-windows',
  journal: 'journal',
  operations: 'foreign-operations',
  hashes: 'hashes',
  operationTimes: 'operations-by-time',
  meta: 'meta',
}

type AnyKey = string | number | Buffer
type AnyTable = Table<AnyKey>
type Check = (table: AnyTable, name: string) => AnyTable

/** How the keys of each table are laid out, by its name in the file. */
export const KEYS_OF_TABLE: Readonly<Record<string, KeyEncoder<AnyKey>>> = Object.fromEntries(
  Object.values(NAME_OF_TABLE).map(name => [name, keysOf(name) as KeyEncoder<AnyKey>]),
)

function keysOf(name: string): KeyEncoder<string> | KeyEncoder<number> | KeyEncoder<Buffer> {
  if (name === 'entries') return byteKeys
  return ['log', 'journal', 'hashes', 'operations-by-time'].includes(name) ? positionKeys : textKeys
}

function openTables(root: RootDatabase): Tables {
  return mapTables(name => openTable(root, name)!)
}

function checkTables(tables: Tables, check: Check): Tables {
  const byName = new Map(Object.entries(NAME_OF_TABLE).map(([key, name]) => [name, tables[key as keyof Tables]]))
  return mapTables(name => check(byName.get(name) as unknown as AnyTable, name))
}

function mapTables(create: (name: string) => AnyTable): Tables {
  const entries = Object.entries(NAME_OF_TABLE).map(([key, name]) => [key, create(name)])
  return Object.fromEntries(entries) as Tables
}

function openTable(root: RootDatabase, name: string, more: { readonly create?: boolean } = {}): AnyTable | undefined {
  // `keyEncoder` and `create` are options that lmdb documents but does not declare.
  const options = {
    encoding: 'binary' as const,
    keyEncoder: KEYS_OF_TABLE[name],
    useVersions: name === 'meta',
    ...more,
  }
  return root.openDB<Buffer, AnyKey>(name, options) as unknown as AnyTable | undefined
}
