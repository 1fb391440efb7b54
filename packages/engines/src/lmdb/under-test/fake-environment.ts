/** An environment in memory that can fail as LMDB does, for failures that a real one has once in a million transactions. */
import type { Environment, RangeOptions, Table } from '../environment.js'
import { decodeHead } from '../records.js'

export type Failure =
  /** It refuses, and nothing has changed. */
  | { readonly kind: 'refuse'; readonly code: number }
  /** It commits, and then cannot flush. */
  | { readonly kind: 'not-flushed'; readonly code: number }
  /** Writing a record throws; what was written before it is committed. */
  | { readonly kind: 'throw-half-way' }

export interface FakeEnvironment extends Environment {
  /** The failures of the transactions to come, one by one. */
  readonly failures: Failure[]
  transactions: number
  /** Called while a transaction is on its way to the disk. */
  onFlush: () => void
  /** All records, and a way to restore them. */
  snapshot(): Snapshot
  restore(snapshot: Snapshot): void
}

type Snapshot = readonly (readonly (readonly [string | number, Buffer])[])[]

export function createFakeEnvironment(): FakeEnvironment {
  const tables = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(() => new Map<string | number, Buffer>())
  const [values, buckets, log, memory, meta, indexes, tags, clients, operations, operationTimes, journal, hashes] =
    tables as [
      TextMap,
      TextMap,
      NumberMap,
      TextMap,
      TextMap,
      TextMap,
      TextMap,
      TextMap,
      TextMap,
      NumberMap,
      NumberMap,
      NumberMap,
    ]
  const environment: FakeEnvironment = {
    failures: [],
    transactions: 0,
    onFlush: () => {},
    values: tableOf(values, () => environment.failures[0]),
    buckets: tableOf(buckets),
    log: tableOf(log),
    memory: tableOf(memory),
    meta: tableOf(meta),
    indexes: tableOf(indexes),
    entries: tableOf(new Map<Buffer, Buffer>()),
    tags: tableOf(tags),
    clients: tableOf(clients),
    operations: tableOf(operations),
    operationTimes: tableOf(operationTimes),
    journal: tableOf(journal),
    hashes: tableOf(hashes),
    async write(epoch, action) {
      environment.transactions++
      if (decodeHead(environment.meta.get('head')!).epoch !== epoch) return false
      const before = environment.snapshot()
      action()
      await undefined
      environment.onFlush()
      const failure = environment.failures.shift()
      if (failure === undefined || failure.kind === 'throw-half-way') return true
      if (failure.kind === 'refuse') environment.restore(before)
      throw commitFailed(failure.code)
    },
    snapshot: () => tables.map(table => [...table]),
    restore: snapshot => {
      for (const [i, table] of tables.entries()) restore(table, snapshot[i]!)
    },
    transaction: async action => action(),
    refresh: () => {},
    useReadTransaction: () => ({ done: () => {} }),
    flush: async () => {},
    readerCheck: () => 0,
    close: async () => {},
  }
  return environment
}

type TextMap = Map<string, Buffer>
type NumberMap = Map<number, Buffer>

function restore<K>(table: Map<K, Buffer>, entries: readonly (readonly [K, Buffer])[]): void {
  table.clear()
  for (const [key, record] of entries) table.set(key, record)
}

/** As lmdb reports it: a promise of its own has the reason. */
function commitFailed(code: number): Error {
  const reason = Promise.reject(Object.assign(new Error('the reason'), { code }))
  reason.catch(() => {})
  return Object.assign(new Error('Commit failed (see commitError for details)'), { commitError: reason })
}

function tableOf<K extends string | number | Buffer>(
  records: Map<K, Buffer>,
  failure?: () => Failure | undefined,
): Table<K> {
  const inRange = ({ start, end }: RangeOptions<K>) =>
    [...records]
      .filter(([key]) => key >= start && (end === undefined || key < end))
      .sort(([a], [b]) => (a < b ? -1 : 1))
  let puts = 0
  return {
    lastSize: 0,
    get: key => records.get(key),
    getBinaryFast: key => records.get(key),
    getRange: options => inRange(options).map(([key, value]) => ({ key, value })),
    getKeysCount: options => inRange(options).length,
    getKeys: options => inRange(options).map(([key]) => key),
    put(key, record) {
      if (failure?.()?.kind === 'throw-half-way' && ++puts === 2) throw new Error('half way')
      records.set(key, Buffer.from(record))
    },
    getStats: () => ({
      entryCount: records.size,
      pageSize: 0,
      treeBranchPageCount: 0,
      treeLeafPageCount: 0,
      overflowPages: 0,
    }),
    remove: key => records.delete(key),
  }
}
