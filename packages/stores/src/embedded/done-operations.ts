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
  readonly windows: KnownWindows
}

/** About so many operations, and at most so many records, are forgotten in one transaction. */
const FORGET_MAX = 1000

/** So many windows are kept in memory, so that they need not be read again. */
const KNOWN_MAX = 10_000

/**
 * The windows of clients who were here lately, as they are at one position. A transaction may be refused after it was
 * decided: whoever finds the store at another position than this knows nothing.
 */
export class KnownWindows {
  readonly #windows = new Map<string, ClientWindow>()
  #position: Position | undefined

  /** Shared. */
  at(position: Position, client: string): ClientWindow | undefined {
    return position === this.#position ? this.#windows.get(client) : undefined
  }

  /** The state goes from one position to another, with these changes; undefined: gone. It becomes their owner. */
  change(from: Position, to: Position, changed: ReadonlyMap<string, ClientWindow | undefined>): void {
    if (from !== this.#position || this.#windows.size + changed.size > KNOWN_MAX) this.#windows.clear()
    this.#position = to
    for (const [client, window] of changed) {
      if (window === undefined) this.#windows.delete(client)
      else this.#windows.set(client, share(window))
    }
  }
}

function share({ settledTo, lastMs, done }: ClientWindow): ClientWindow {
  return { settledTo, lastMs, done, isShared: true }
}

export class DoneOperations implements OperationTables {
  readonly retentionMs: number
  readonly #records: OperationRecords & Pick<Tables, 'meta'>
  readonly #seen: SeenIds
  readonly #known: KnownWindows
  readonly #nowMs: number
  readonly #from: Position
  /** As read. */
  readonly #opened = new Map<string, ClientWindow | undefined>()
  readonly #windows = new Map<string, ClientWindow | undefined>()
  readonly #foreign = new Map<string, ForeignOperation>()
  #forgotten: { readonly ids: readonly string[]; readonly positions: readonly Position[] } = { ids: [], positions: [] }

  constructor(
    records: OperationRecords & Pick<Tables, 'meta'>,
    { seen, windows, retentionMs }: OperationSettings,
    nowMs: number,
    position: Position,
  ) {
    this.#records = records
    this.#seen = seen
    this.#known = windows
    this.#nowMs = nowMs
    this.#from = position
    this.retentionMs = retentionMs
  }

  window(client: string): ClientWindow | undefined {
    if (this.#windows.has(client)) return this.#windows.get(client)
    if (this.#opened.has(client)) return this.#opened.get(client)
    const window = this.#known.at(this.#from, client) ?? readWindow(this.#records, client)
    this.#opened.set(client, window)
    return window
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

  /** Within the transaction, which takes the store to this position. */
  apply(epoch: number, position: Position): void {
    this.#known.change(this.#from, position, this.#windows)
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
      const together = value
        .toString()
        .split('\n')
        .map(id => ({ id, done: readForeign(this.#records, id) }))
      // An id that was used again since has a record of its own further on.
      const those = together.filter(({ done }) => done !== undefined && done.position <= key)
      // They have one time.
      const [first] = those
      if (ids.length >= FORGET_MAX || (first && !hasForeignExpired(first.done!, this.#nowMs, this))) break
      positions.push(key)
      for (const { id } of those) ids.push(id)
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
  const parts: string[] = []
  for (const [sequence, operation] of done) parts.push(`[${sequence},${spellDone(operation)}]`)
  return Buffer.from(`[${settledTo},${lastMs},[${parts.join()}]]`)
}

function decodeWindow(record: Buffer): ClientWindow {
  const [settledTo, lastMs, parts] = JSON.parse(record.toString()) as [number, number, [number, ...DoneParts][]]
  return { settledTo, lastMs, done: new Map(parts.map(([sequence, ...done]) => [sequence, toDone(done)])) }
}

function encodeForeign(done: ForeignOperation): Uint8Array {
  return Buffer.from(`[${done.timeMs},${spellDone(done)}]`)
}

function decodeForeign(record: Buffer): ForeignOperation {
  const [timeMs, ...done] = JSON.parse(record.toString()) as [number, ...DoneParts]
  return { timeMs, ...toDone(done) }
}

/** JSON by hand, without the lists that JSON.stringify would need: this is done for each operation. */
function spellDone({ fingerprint, position, units, note }: DoneOperation): string {
  return `${JSON.stringify(fingerprint)},${position},[${units.join()}],${JSON.stringify(note)}`
}

function toDone([fingerprint, position, units, note]: DoneParts): DoneOperation {
  return { fingerprint, position, units, note }
}
