/**
 * Operations whose ids other programs made, each with its own record, and one record per transaction for forgetting:
 *
 *     operations       id, ASCII                  double: timeMs | the result (`done-records.ts`)
 *     operationTimes   8: number, big-endian      when one transaction was decided, and the ids of its operations, one per
 *                                                 line
 *
 * Most ids are new. A filter in memory proves that for most of them, so that the table, which may be much larger than the
 * memory, is read only for the rest. The filter is filled from the tables before the first commit is accepted. If there are
 * more ids than it was made for, a larger one replaces it.
 */
import { type ForeignOperation, hasForeignExpired, type RetentionOptions, type SeenIds } from '@freshet/core/counters'
import type { Table } from '../environment.js'
import { ByteReader, ByteWriter } from './byte-records.js'
import { readDone, writeDone } from './done-records.js'

export interface ForeignRecords {
  readonly operations: Table<string>
  readonly operationTimes: Table<number>
}

export class ForeignOperations {
  readonly #records: ForeignRecords
  readonly #seen: SeenIds
  /** For the transaction that is being decided. */
  readonly #decided = new Map<string, ForeignOperation>()
  readonly #writer = new ByteWriter()
  /** The last number in `operationTimes`. */
  #last = 0

  constructor(records: ForeignRecords, seen: SeenIds) {
    this.#records = records
    this.#seen = seen
    for (const { key, value } of records.operationTimes.getRange({ start: 0 })) {
      const { timeMs, ids } = decodeTimes(value)
      for (const id of ids) seen.add(id, timeMs)
      this.#last = key
    }
  }

  begin(): void {
    this.#decided.clear()
    this.#writer.clear()
  }

  /** An expired operation is not known, whether its record still exists or not. */
  get(id: string, nowMs: number, retention: RetentionOptions): ForeignOperation | undefined {
    const decided = this.#decided.get(id)
    if (decided !== undefined || !this.#seen.has(id)) return decided
    const done = this.#read(id)
    return done === undefined || hasForeignExpired(done, nowMs, retention) ? undefined : done
  }

  set(id: string, operation: ForeignOperation): void {
    this.#decided.set(id, operation)
  }

  get hasChanges(): boolean {
    return this.#decided.size > 0
  }

  /** Call within the transaction. */
  apply(nowMs: number): void {
    if (!this.hasChanges) return
    const { operations, operationTimes } = this.#records
    for (const [id, done] of this.#decided) {
      operations.put(id, this.#encode(done))
      this.#seen.add(id, nowMs)
    }
    operationTimes.put(++this.#last, encodeTimes(nowMs, [...this.#decided.keys()]))
  }

  /** About `limit` of the oldest operations. */
  expired(limit: number, nowMs: number, retention: RetentionOptions): ExpiredOperations {
    const expired: string[] = []
    const numbers: number[] = []
    for (const { key, value } of this.#records.operationTimes.getRange({ start: 0, limit })) {
      const { timeMs, ids } = decodeTimes(value)
      if (expired.length >= limit || !hasForeignExpired({ timeMs }, nowMs, retention)) break
      numbers.push(key)
      // An id that was used again since is in a later record as well.
      expired.push(...ids.filter(id => this.#read(id)?.timeMs === timeMs))
    }
    return { ids: expired, numbers }
  }

  /** Call within a transaction. */
  forget({ ids, numbers }: ExpiredOperations): void {
    for (const id of ids) if (!this.#decided.has(id)) this.#records.operations.remove(id)
    for (const number of numbers) this.#records.operationTimes.remove(number)
  }

  #encode(done: ForeignOperation): Uint8Array {
    const start = this.#writer.length
    this.#writer.double(done.timeMs)
    writeDone(this.#writer, done, 0)
    return this.#writer.bytes(start)
  }

  #read(id: string): ForeignOperation | undefined {
    const record = this.#records.operations.get(id)
    return record && decodeForeign(record)
  }
}

export interface ExpiredOperations {
  readonly ids: readonly string[]
  readonly numbers: readonly number[]
}

function encodeTimes(timeMs: number, ids: readonly string[]): Uint8Array {
  return Buffer.from(`${timeMs}\n${ids.join('\n')}`)
}

function decodeTimes(record: Buffer): { readonly timeMs: number; readonly ids: readonly string[] } {
  const [time, ...ids] = record.toString().split('\n')
  return { timeMs: Number(time), ids }
}

function decodeForeign(record: Buffer): ForeignOperation {
  const reader = new ByteReader(record)
  return { timeMs: reader.double(), ...readDone(reader, 0) }
}
