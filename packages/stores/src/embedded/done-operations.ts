/**
 * What the store remembers of operations, as a batch of commits sees and changes it. Two tables, and one to forget by:
 *
 *     clients      client, ASCII               its window, JSON: [settledTo, lastMs, [[sequence, done…], …]]
 *     operations   id, ASCII                   what came of it, JSON: [timeMs, done…]
 *     by-time      8: position, big-endian     the ids of the operations that were done in one transaction, a line each,
 *                                              at the position of the last
 *
 *     done…        fingerprint, position, units, note
 *
 * Most ids are new. That an id of somebody else's is surely so is told by a filter in memory, so that the table, which may
 * be much larger than the memory, is only looked into for the rest. The filter is filled from the table before the first
 * commit is taken. If more ids come than it was made for, a larger one takes its place.
 */
import {
  type ClientWindow,
  type ForeignOperation,
  hasExpired,
  hasForeignExpired,
  type OperationTables,
  type RetentionOptions,
  type SeenIds,
} from '@freshet/core/counters'
import type { DoneOperation, Position } from '@freshet/core/store'
import type { Table, TableStats, Tables } from './engine.js'
import { FORMAT_VERSION } from './records.js'

export interface OperationRecords {
  readonly clients: Table<string>
  readonly operations: Table<string>
  readonly operationTimes: Table<number>
}

export interface OperationSettings extends RetentionOptions {
  readonly seen: SeenIds
}

/** About so many operations, and at most so many records, are forgotten in one transaction. */
const FORGET_MAX = 1000

export class DoneOperations implements OperationTables {
  readonly retentionMs: number
  readonly #records: OperationRecords & Pick<Tables, 'meta'>
  readonly #seen: SeenIds
  readonly #nowMs: number
  readonly #windows = new Map<string, ClientWindow | undefined>()
  readonly #foreign = new Map<string, ForeignOperation>()
  #forgotten: { readonly ids: readonly string[]; readonly positions: readonly Position[] } = { ids: [], positions: [] }

  constructor(
    records: OperationRecords & Pick<Tables, 'meta'>,
    { seen, retentionMs }: OperationSettings,
    nowMs: number,
  ) {
    this.#records = records
    this.#seen = seen
    this.#nowMs = nowMs
    this.retentionMs = retentionMs
  }

  window(client: string): ClientWindow | undefined {
    if (this.#windows.has(client)) return this.#windows.get(client)
    return readWindow(this.#records, client)
  }

  setWindow(client: string, window: ClientWindow): void {
    this.#windows.set(client, window)
  }

  foreign(id: string): ForeignOperation | undefined {
    return this.#foreign.get(id) ?? (this.#seen.has(id, this.#nowMs) ? readForeign(this.#records, id) : undefined)
  }

  setForeign(id: string, operation: ForeignOperation): void {
    this.#foreign.set(id, operation)
  }

  /** One step. Where to go on after it; undefined if nothing is left to forget. */
  forget(after: string | undefined): string | undefined {
    this.#forgotten = this.#expired()
    let last: string | undefined
    const range = { start: after ?? '', exclusiveStart: after !== undefined, limit: FORGET_MAX }
    let count = 0
    for (const { key, value } of this.#records.clients.getRange(range)) {
      count++
      last = key
      if (!this.#windows.has(key) && hasExpired(decodeWindow(value), this.#nowMs, this))
        this.#windows.set(key, undefined)
    }
    return count === FORGET_MAX || this.#forgotten.ids.length >= FORGET_MAX ? (last ?? after ?? '') : undefined
  }

  /** Whether there is anything to apply. */
  get hasChanges(): boolean {
    return this.#windows.size + this.#foreign.size + this.#forgotten.ids.length > 0
  }

  /** Within the transaction. */
  apply(epoch: number): void {
    if (!this.hasChanges) return
    const { clients, operations, operationTimes, meta } = this.#records
    // From here on an older Freshet would do things twice.
    meta.put('format', Buffer.from(Uint32Array.of(FORMAT_VERSION).buffer), epoch)
    for (const [client, window] of this.#windows) {
      if (window === undefined) clients.remove(client)
      else clients.put(client, encodeWindow(window))
    }
    for (const id of this.#forgotten.ids) operations.remove(id)
    for (const position of this.#forgotten.positions) operationTimes.remove(position)
    let last = 0
    for (const [id, done] of this.#foreign) {
      operations.put(id, encodeForeign(done))
      this.#seen.add(id, this.#nowMs)
      last = done.position
    }
    if (last > 0) operationTimes.put(last, Buffer.from([...this.#foreign.keys()].join('\n')))
  }

  #expired(): { readonly ids: string[]; readonly positions: Position[] } {
    const ids: string[] = []
    const positions: Position[] = []
    for (const { key, value } of this.#records.operationTimes.getRange({ start: 0, limit: FORGET_MAX })) {
      // They have one time.
      const together = value.toString().split('\n')
      const done = readForeign(this.#records, together[0]!)
      if (ids.length >= FORGET_MAX || (done !== undefined && !hasForeignExpired(done, this.#nowMs, this))) break
      positions.push(key)
      ids.push(...together)
    }
    return { ids, positions }
  }
}

/** Fills the filter. Before the first commit is taken. */
export function fillSeenIds({ operations }: OperationRecords, seen: SeenIds, nowMs: number): void {
  for (const id of operations.getKeys({ start: '' })) seen.add(id, nowMs)
}

export function countOperations({ clients, operations, operationTimes }: OperationRecords): {
  readonly clients: number
  readonly foreign: number
  readonly diskBytes: number
} {
  const stats = [clients, operations, operationTimes].map(table => table.getStats())
  return {
    clients: stats[0]!.entryCount,
    foreign: stats[1]!.entryCount,
    diskBytes: stats.reduce((sum, each) => sum + bytesOf(each), 0),
  }
}

function bytesOf({ pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages }: TableStats): number {
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages)
}

export function readWindow({ clients }: OperationRecords, client: string): ClientWindow | undefined {
  const record = clients.get(client)
  return record && decodeWindow(record)
}

export function readForeign({ operations }: OperationRecords, id: string): ForeignOperation | undefined {
  const record = operations.get(id)
  return record && decodeForeign(record)
}

type DoneParts = readonly [fingerprint: string, position: Position, units: readonly number[], note: string]

function encodeWindow({ settledTo, lastMs, done }: ClientWindow): Uint8Array {
  const parts = [...done].map(([sequence, operation]) => [sequence, ...partsOf(operation)])
  return Buffer.from(JSON.stringify([settledTo, lastMs, parts]))
}

function decodeWindow(record: Buffer): ClientWindow {
  const [settledTo, lastMs, parts] = JSON.parse(record.toString()) as [number, number, [number, ...DoneParts][]]
  return { settledTo, lastMs, done: new Map(parts.map(([sequence, ...done]) => [sequence, toDone(done)])) }
}

function encodeForeign(done: ForeignOperation): Uint8Array {
  return Buffer.from(JSON.stringify([done.timeMs, ...partsOf(done)]))
}

function decodeForeign(record: Buffer): ForeignOperation {
  const [timeMs, ...done] = JSON.parse(record.toString()) as [number, ...DoneParts]
  return { timeMs, ...toDone(done) }
}

function partsOf({ fingerprint, position, units, note }: DoneOperation): DoneParts {
  return [fingerprint, position, units, note]
}

function toDone([fingerprint, position, units, note]: DoneParts): DoneOperation {
  return { fingerprint, position, units, note }
}
