/**
 * What the store remembers of operations, as transactions see and change it, one after the other: `begin`, decide, `apply`,
 * `end`. One that did not come to its end has left no trace on disk, and with the next all of it is as if it had not been.
 */
import {
  type ClientWindow,
  type ForeignOperation,
  type OperationTables,
  type RetentionOptions,
  SeenIds,
} from '@freshet/core/counters'
import type { DoneOperation, Position } from '@freshet/core/store'
import type { OwnOperationId } from '@freshet/protocol'
import type { TableStats, Tables } from '../engine.js'
import { FORMAT_VERSION } from '../records.js'
import { type ClientRecords, ClientWindows, type ExpiredClients } from './client-windows.js'
import { type ExpiredOperations, ForeignOperations, type ForeignRecords } from './foreign-operations.js'

export type OperationRecords = ClientRecords & ForeignRecords

export interface DoneOperationsOptions extends RetentionOptions {
  readonly tables: OperationRecords & Pick<Tables, 'meta'>
  /** Of the filter. */
  readonly seed: bigint
}

/** About so many operations, and at most so many clients, are forgotten in one transaction. */
const FORGET_MAX = 1000

interface Expired {
  readonly clients: ExpiredClients
  readonly foreign: ExpiredOperations
}

export class DoneOperations implements OperationTables {
  readonly retentionMs: number
  readonly #tables: Pick<Tables, 'meta'>
  readonly #seen: SeenIds
  readonly #windows: ClientWindows
  readonly #foreign: ForeignOperations
  #nowMs = 0
  #expired: Expired | undefined
  #isUnderWay = false

  constructor({ tables, retentionMs, seed }: DoneOperationsOptions) {
    this.retentionMs = retentionMs
    this.#tables = tables
    this.#seen = new SeenIds({ windowMs: retentionMs, seed })
    this.#windows = new ClientWindows(tables)
    this.#foreign = new ForeignOperations(tables, this.#seen)
  }

  /** A transaction is to be decided, at this position. */
  begin(nowMs: number, from: Position): void {
    if (this.#isUnderWay && this.hasChanges) this.#windows.reload()
    this.#isUnderWay = true
    this.#nowMs = nowMs
    this.#expired = undefined
    this.#windows.begin(from, nowMs)
    this.#foreign.begin()
  }

  window(client: string): ClientWindow | undefined {
    return this.#windows.get(client)
  }

  setWindow(id: OwnOperationId, window: ClientWindow, done: DoneOperation): void {
    this.#windows.set(id, window, done)
  }

  foreign(id: string): ForeignOperation | undefined {
    return this.#foreign.get(id, this.#nowMs)
  }

  setForeign(id: string, operation: ForeignOperation): void {
    this.#foreign.set(id, operation)
  }

  /** One step. Where to go on after it; undefined if nothing is left to forget. */
  forget(after: string | undefined): string | undefined {
    const clients = this.#windows.expired(after, FORGET_MAX, this.#nowMs, this)
    const foreign = this.#foreign.expired(FORGET_MAX, this.#nowMs, this)
    this.#expired = { clients, foreign }
    return clients.isEnd && foreign.ids.length < FORGET_MAX ? undefined : (clients.last ?? after ?? '')
  }

  /** Whether there is anything to apply. */
  get hasChanges(): boolean {
    const { clients, foreign } = this.#expired ?? {}
    const isForgetting = clients !== undefined && clients.expired.length + foreign!.numbers.length > 0
    return isForgetting || this.#windows.hasChanges || this.#foreign.hasChanges
  }

  /** Within the transaction. */
  apply(epoch: number): void {
    if (!this.hasChanges) return
    // From here on an older Freshet would do things twice.
    this.#tables.meta.put('format', Buffer.from(Uint32Array.of(FORMAT_VERSION).buffer), epoch)
    if (this.#expired !== undefined) {
      this.#windows.forget(this.#expired.clients.expired)
      this.#foreign.forget(this.#expired.foreign)
    }
    this.#windows.apply()
    this.#foreign.apply(this.#nowMs)
  }

  /** What was decided is done. */
  end(): void {
    this.#isUnderWay = false
  }

  /** Of our clients, those that `countOperations` does not see. */
  get newClients(): number {
    return this.#windows.newCount
  }

  get memoryBytes(): number {
    return this.#seen.sizeBytes() + this.#windows.memoryBytes
  }

  get falsePositiveRate(): number {
    return this.#seen.estimatedRate()
  }
}

export function countOperations({ clients, journal, operations, operationTimes }: OperationRecords): {
  readonly clients: number
  readonly foreign: number
  readonly diskBytes: number
} {
  const stats = [clients, operations, operationTimes, journal].map(table => table.getStats())
  return {
    clients: stats[0]!.entryCount,
    foreign: stats[1]!.entryCount,
    diskBytes: stats.reduce((sum, each) => sum + bytesOf(each), 0),
  }
}

function bytesOf({ pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages }: TableStats): number {
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
}
