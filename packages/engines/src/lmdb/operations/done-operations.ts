/**
 * The store's memory of operations, as transactions see and change it, one after the other: `begin`, decide, `apply`, `end`.
 * A transaction without `end` has left no trace on disk, and the next `begin` undoes all its effects here.
 */
import {
  type ClientWindow,
  type CompactOptions,
  type ForeignOperation,
  type OperationTables,
  type RetentionOptions,
  SeenIds,
} from '@freshet/core/counters'
import type { DoneOperation, OperationCounts, Position } from '@freshet/core/store'
import type { OwnOperationId } from '@freshet/protocol'
import type { TableStats, Tables } from '../environment.js'
import { FORMAT_VERSION } from '../records.js'
import { type ClientRecords, ClientWindows, type ExpiredClients } from './client-windows.js'
import { CompactOperations, type CompactRecords, type ExpiredHashes } from './compact-operations.js'
import { type ExpiredOperations, ForeignOperations, type ForeignRecords } from './foreign-operations.js'

export type OperationRecords = ClientRecords & ForeignRecords & CompactRecords

export interface DoneOperationsOptions extends RetentionOptions {
  readonly tables: OperationRecords & Pick<Tables, 'meta'>
  /** The seed of the filter. */
  readonly seed: bigint
  /** If given, only hashes of foreign ids are remembered. */
  readonly compact?: CompactOptions | undefined
}

/** About how many operations, and at most how many clients, are forgotten in one transaction. */
const FORGET_MAX = 1000

interface Expired {
  readonly clients: ExpiredClients
  readonly foreign: ExpiredOperations
  readonly hashes: ExpiredHashes
}

export class DoneOperations implements OperationTables {
  readonly retentionMs: number
  readonly #tables: Pick<Tables, 'meta'>
  readonly #seen: SeenIds
  readonly #windows: ClientWindows
  readonly #foreign: ForeignOperations
  /** Also set in exact mode if the store has hashes from an earlier time in compact mode, which are still known. */
  readonly #compact: CompactOperations | undefined
  readonly #isCompact: boolean
  #nowMs = 0
  #expired: Expired | undefined
  #isUnderWay = false

  constructor({ tables, retentionMs, seed, compact }: DoneOperationsOptions) {
    this.retentionMs = retentionMs
    this.#tables = tables
    this.#seen = new SeenIds({ windowMs: retentionMs, seed })
    this.#windows = new ClientWindows(tables)
    this.#foreign = new ForeignOperations(tables, this.#seen)
    this.#isCompact = compact !== undefined
    const isCompact = this.#isCompact || hasHashes(tables)
    this.#compact = isCompact ? new CompactOperations(tables, compact ?? {}, this) : undefined
  }

  /** Call before a transaction is decided, with the position that it begins at. */
  begin(nowMs: number, from: Position): void {
    if (this.#isUnderWay && this.hasChanges) this.#windows.reload()
    this.#isUnderWay = true
    this.#nowMs = nowMs
    this.#expired = undefined
    this.#windows.begin(from, nowMs)
    this.#foreign.begin()
    this.#compact?.begin()
  }

  window(client: string): ClientWindow | undefined {
    return this.#windows.get(client)
  }

  setWindow(id: OwnOperationId, window: ClientWindow, done: DoneOperation): void {
    this.#windows.set(id, window, done)
  }

  foreign(id: string): ForeignOperation | 'seen' | 'full' | undefined {
    const done = this.#foreign.get(id, this.#nowMs, this)
    if (done !== undefined || this.#compact === undefined) return done
    if (this.#compact.has(id, this.#nowMs)) return 'seen'
    return this.#isCompact && this.#compact.isFull ? 'full' : undefined
  }

  setForeign(id: string, operation: ForeignOperation): void {
    if (this.#isCompact) this.#compact!.add(id)
    else this.#foreign.set(id, operation)
  }

  /** Takes one step. Returns where to continue; undefined if nothing is left to forget. */
  forget(after: string | undefined): string | undefined {
    const clients = this.#windows.expired(after, FORGET_MAX, this.#nowMs, this)
    const foreign = this.#foreign.expired(FORGET_MAX, this.#nowMs, this)
    const hashes = this.#compact?.expired(FORGET_MAX, this.#nowMs, this) ?? NO_HASHES
    this.#expired = { clients, foreign, hashes }
    const isEnd = clients.isEnd && foreign.ids.length < FORGET_MAX && hashes.numbers.length < FORGET_MAX
    return isEnd ? undefined : (clients.last ?? after ?? '')
  }

  /** Whether there is anything to apply. */
  get hasChanges(): boolean {
    const isForgetting = this.#expired !== undefined && !isNothing(this.#expired)
    return isForgetting || this.#windows.hasChanges || this.#foreign.hasChanges || this.#compact?.hasChanges === true
  }

  /** Call within the transaction. */
  apply(epoch: number): void {
    if (!this.hasChanges) return
    // From here on an older Freshet would repeat operations.
    this.#tables.meta.put('format', Buffer.from(Uint32Array.of(FORMAT_VERSION).buffer), epoch)
    if (this.#expired !== undefined) {
      this.#windows.forget(this.#expired.clients.expired)
      this.#foreign.forget(this.#expired.foreign)
      this.#compact?.forget(this.#expired.hashes)
    }
    this.#windows.apply()
    this.#foreign.apply(this.#nowMs)
    this.#compact?.apply(this.#nowMs)
  }

  /** Call when the decided transaction is done. */
  end(): void {
    this.#compact?.end(this.#nowMs)
    this.#isUnderWay = false
  }

  /** Counts beyond the entries of the tables. */
  counts(): Pick<OperationCounts, 'clients' | 'foreign' | 'memoryBytes' | 'mode' | 'falsePositiveRate'> {
    return {
      clients: this.#windows.newCount,
      foreign: this.#compact?.count ?? 0,
      memoryBytes: this.#seen.sizeBytes() + this.#windows.memoryBytes + (this.#compact?.memoryBytes ?? 0),
      mode: this.#isCompact ? 'compact' : 'exact',
      falsePositiveRate: (this.#isCompact ? this.#compact! : this.#seen).estimatedRate(),
    }
  }
}

const NO_HASHES: ExpiredHashes = { numbers: [], count: 0 }

function hasHashes({ hashes }: CompactRecords): boolean {
  return hashes.getKeysCount({ start: 0, limit: 1 }) > 0
}

function isNothing({ clients, foreign, hashes }: Expired): boolean {
  return clients.expired.length + foreign.numbers.length + hashes.numbers.length === 0
}

export function countOperations({ clients, journal, operations, operationTimes, hashes }: OperationRecords): {
  readonly clients: number
  readonly foreign: number
  readonly diskBytes: number
} {
  const stats = [clients, operations, operationTimes, journal, hashes].map(table => table.getStats())
  return {
    clients: stats[0]!.entryCount,
    foreign: stats[1]!.entryCount,
    diskBytes: stats.reduce((sum, each) => sum + bytesOf(each), 0),
  }
}

function bytesOf({ pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages }: TableStats): number {
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
}
