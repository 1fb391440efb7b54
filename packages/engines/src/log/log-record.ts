/** One record of the log: what one append adds. */
import type { IndexNumbers } from '@freshet/core/commit'
import type { Key, LogEntry, Position, StoredValue } from '@freshet/core/store'
import { storeDamaged } from '@freshet/store/engine'
import { type Changed, decodeValue } from '@freshet/store/records'
import type { AppendNote } from './turns.js'

/** The state after a record. */
export interface LogState {
  /** The id of the log. */
  readonly log: string
  readonly position: Position
  /** Grows with each record, and is never less than the position: the timestamp of the rows that the record writes. */
  readonly stamp: number
  /** The store's time; it does not go back. */
  readonly timeMs: number
  readonly trimmedTo: Position
  /** Partitions of the log before this one have been deleted. */
  readonly firstPart: number
  /** The rows of all records up to this slot have been written. */
  readonly applied: number
  /** Slots beyond `applied` whose rows have been written too, by the server that appended this record. */
  readonly done: readonly number[]
  /** The slots of records that were seen late: this record contains their keys once more. */
  readonly again: readonly number[]
  readonly append: AppendNote
  /** The numbers of indexes. Left out until the store's first index is declared. */
  readonly numbers?: IndexNumbers
}

export const NO_NUMBERS: IndexNumbers = { last: 0, dropped: [] }

/** What a record changes in the tables; undefined: deleted. */
export interface Effects {
  readonly objects: ReadonlyMap<Key, StoredValue | undefined>
  readonly buckets: ReadonlyMap<Key, Position>
  readonly clients: ReadonlyMap<string, string>
  readonly operations: ReadonlyMap<string, string>
  readonly memory: ReadonlyMap<string, Buffer>
  /** By bucket, all its indexes: the bytes of `encodeIndexes`. */
  readonly indexes: ReadonlyMap<Key, Buffer>
  /** By `tagKey`. */
  readonly tags: ReadonlyMap<string, Position>
  /** By `spellEntry`: whether the index entry exists from now on. */
  readonly entries: ReadonlyMap<string, boolean>
  /** The numbers of dropped indexes whose entries are all to be removed. Queries no longer read them. */
  readonly cleared: ReadonlySet<number>
}

export interface LogRecord {
  readonly slot: number
  readonly id: string
  readonly state: LogState
  readonly commits: readonly Changed[]
  readonly effects: Effects
}

export const NO_EFFECTS: Effects = {
  objects: new Map(),
  buckets: new Map(),
  clients: new Map(),
  operations: new Map(),
  memory: new Map(),
  indexes: new Map(),
  tags: new Map(),
  entries: new Map(),
  cleared: new Set(),
}

export function entriesOf({ state, commits }: Pick<LogRecord, 'state' | 'commits'>): LogEntry[] {
  const first = state.position - commits.length + 1
  return commits.map(({ keys, tags }, i) => ({ position: first + i, timeMs: state.timeMs, keys, tags }))
}

export function hasEffects({ effects }: LogRecord): boolean {
  return Object.values(effects).some(({ size }) => size > 0)
}

/** About how many bytes the record takes in the tables. */
export function bytesOf({ effects }: LogRecord): number {
  let bytes = 0
  for (const [key, value] of effects.objects) bytes += key.length + (value?.body.length ?? 0) + 16
  for (const texts of [effects.clients, effects.operations]) {
    for (const [id, text] of texts) bytes += id.length + text.length
  }
  for (const values of [effects.memory, effects.indexes]) {
    for (const [name, value] of values) bytes += name.length + value.length
  }
  for (const tag of effects.tags.keys()) bytes += tag.length + 16
  for (const entry of effects.entries.keys()) bytes += entry.length + 8
  return bytes
}

export function readValue(key: Key, bytes: Buffer): StoredValue {
  const value = decodeValue(bytes, bytes.length)
  if (value === undefined) throw storeDamaged(`${JSON.stringify(key)} is not a value that Freshet wrote`)
  return value
}

/** The bytes of an index entry as latin1 text: in the same order, and usable as the key of a map. */
export function spellEntry(entry: Buffer): string {
  return entry.toString('latin1')
}

export function readEntry(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

/** The record is larger than the storage takes. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge'

  constructor(bytes: number) {
    super(`It needs a log record of ${bytes} bytes.`)
  }
}
