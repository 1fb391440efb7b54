/**
 * What the store remembers of operations, as transactions see and change it, one after the other: `begin`, decide, `apply`,
 * `end`. One that did not come to its end has left no trace on disk, and with the next all of it is as if it had not been.
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
  /** Of the filter. */
  readonly seed: bigint
  /** If given, of foreign ids only hashes are remembered. */
  readonly compact?: CompactOptions | undefined
}

/** About so many operations, and at most so many clients, are forgotten in one transaction. */
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
  /** Also where it is not used: what was remembered by it before is still known. */
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

  /** A transaction is to be decided, at this position. */
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

  /** One step. Where to go on after it; undefined if nothing is left to forget. */
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

  /** Within the transaction. */
  apply(epoch: number): void {
    if (!this.hasChanges) return
    // From here on an older Freshet would do things twice.
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

  /** What was decided is done. */
  end(): void {
    this.#compact?.end(this.#nowMs)
    this.#isUnderWay = false
  }

  /** Beyond what is in the tables one by one. */
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
