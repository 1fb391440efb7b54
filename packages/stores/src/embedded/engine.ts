/**
 * LMDB as this store uses it: thirteen tables, opened with the settings that were soaked (docs/decisions/0004). What its type
 * declarations leave out or leave open is declared here, once.
 */
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { byteKeys, positionKeys, textKeys } from './key-encodings.js'

export const DATA_FILE = 'data.mdb'

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
  put(key: K, record: Uint8Array): unknown
  remove(key: K): unknown
}

export interface TableStats {
  readonly entryCount: number
  readonly pageSize: number
  readonly treeBranchPageCount: number
  readonly treeLeafPageCount: number
  readonly overflowPages: number
}

/** Each record has the epoch that wrote it. */
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

export interface Engine extends Tables {
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

export interface EngineOptions {
  readonly path: string
  readonly mode: 'flushing' | 'relaxed' | 'reading'
  /** Looks at the meta table, if there is one, before anything is written. Throws to keep it from being opened. */
  readonly inspect: (meta: MetaTable | undefined) => void
}

export async function openEngine({ path, mode, inspect }: EngineOptions): Promise<Engine> {
  const options = {
    path: join(path, DATA_FILE),
    noSubdir: true,
    encoding: 'binary' as const,
    maxDbs: 16,
    maxReaders: READERS_MAX,
    mapSize: MAP_BYTES,
    readOnly: mode === 'reading',
    // Our own queue does the batching. The engine's would also leave a rejected promise behind, unseen, when the disk is
    // full, and Node would end the process over it.
    eventTurnBatching: false,
    // Without this it flushes while the next transaction may begin (its "overlapping sync"): the mode that was soaked.
    noSync: mode === 'relaxed',
  }
  const root = open(options)
  try {
    inspect(openMeta(root, { create: false }))
    const tables = openTables(root)
    return {
      ...tables,
      write: (epoch, action) => tables.meta.ifVersion('head', epoch, action),
      transaction: action => root.transaction(action),
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

function openTables(root: RootDatabase): Tables & { readonly meta: ConditionalTable } {
  return {
    values: openTable(root, 'values', textKeys)!,
    buckets: openTable(root, 'buckets', textKeys)!,
    log: openTable(root, 'log', positionKeys)!,
    memory: openTable(root, 'memory', textKeys)!,
    indexes: openTable(root, 'indexes', textKeys)!,
    entries: openTable(root, 'entries', byteKeys)!,
    tags: openTable(root, 'tags', textKeys)!,
    clients: openTable(root, 'client-windows', textKeys)!,
    journal: openTable(root, 'journal', positionKeys)!,
    operations: openTable(root, 'foreign-operations', textKeys)!,
    hashes: openTable(root, 'hashes', positionKeys)!,
    operationTimes: openTable(root, 'operations-by-time', positionKeys)!,
    meta: openMeta(root)!,
  }
}

interface ConditionalTable extends MetaTable {
  ifVersion(key: string, version: number, action: () => void): Promise<boolean>
}

function openMeta(root: RootDatabase, more: { readonly create?: boolean } = {}): ConditionalTable | undefined {
  const table = openTable(root, 'meta', textKeys, { useVersions: true, ...more })
  return table as unknown as ConditionalTable | undefined
}

function openTable<K extends string | number | Buffer>(
  root: RootDatabase,
  name: string,
  keyEncoder: KeyEncoder<K>,
  more: { readonly create?: boolean; readonly useVersions?: boolean } = {},
): Table<K> | undefined {
  // `keyEncoder` and `create` are options that lmdb documents but does not declare.
  const options = { encoding: 'binary' as const, keyEncoder, ...more }
  return root.openDB<Buffer, K>(name, options) as unknown as Table<K> | undefined
}
