/**
 * LMDB as this store uses it: thirteen tables, opened with the settings that were soaked (docs/decisions/0004). Declarations
 * that LMDB's types omit, or leave too loose, are here, once. Every record that is read has passed its checksum.
 */
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { addChecksums } from './integrity/add-checksums.js'
import { CheckedTable } from './integrity/checked-records.js'
import { byteKeys, positionKeys, textKeys } from './key-encodings.js'
import { RecordArena } from './record-arena.js'
import { hasChecksums } from './records.js'

export const DATA_FILE = 'data.mdb'
/** The file in which LMDB lists the processes that read. */
export const LOCK_TABLE = 'data.mdb-lock'

/**
 * Address space, not memory or disk. LMDB enlarges its map by itself when necessary; with this much, it need not, in any of
 * the processes that share the map.
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
  /** Reads downwards from the start, which is then the higher end, to the end. */
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
  /** Changes the options object that it is given. */
  getKeysCount(options: RangeOptions<K>): number
  getStats(): TableStats
  /** Only within `write` and `transaction`. The returned promises add nothing to those of these two. */
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

/** Each record has the epoch that wrote it; records of other tables have none. */
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
   * Runs the puts and removes of the action in one transaction, on another thread, if the head still has this epoch;
   * otherwise does nothing. Resolves to whether it ran: when it is on disk, or in relaxed mode as soon as this process is no
   * longer needed for it. Other processes see the result a little earlier. Reads of the action see the state before.
   *
   * If the action throws, so does this, and what the action had put by then may be committed.
   */
  write(epoch: number, action: () => void): Promise<boolean>
  /** Runs the action in a write transaction, on this thread, so it reads its own writes. Resolves when it is on disk. */
  transaction<Result>(action: () => Result): Promise<Result>
  /** The next read sees the latest state; otherwise reads of one turn of the event loop share one state. */
  refresh(): void
  /** Holds the state that the next read would see. */
  useReadTransaction(): ReadTransaction
  /** Writes to disk, on another thread, what is not there yet. */
  flush(): Promise<void>
  /** Frees what killed processes had held. Returns how many such processes there were. */
  readerCheck(): number
  close(): Promise<void>
}

export interface EnvironmentOptions {
  readonly path: string
  readonly mode: 'flushing' | 'relaxed' | 'reading'
  /** Reads the meta table, if there is one, before anything is written. Throws to prevent the store from being opened. */
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
    // Our own queue batches the transactions. LMDB's would also leave a rejected promise unhandled when the disk is full, and
    // Node would end the process because of it.
    eventTurnBatching: false,
    // Otherwise LMDB flushes while the next transaction may begin (its "overlapping sync"), the mode that was soaked.
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
        // One transaction at a time: the records of the previous one are on disk.
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

/** lmdb has this method but does not declare it. */
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
  // lmdb documents the options `keyEncoder` and `create` but does not declare them.
  const options = {
    encoding: 'binary' as const,
    keyEncoder: KEYS_OF_TABLE[name],
    useVersions: name === 'meta',
    ...more,
  }
  return root.openDB<Buffer, AnyKey>(name, options) as unknown as AnyTable | undefined
}
