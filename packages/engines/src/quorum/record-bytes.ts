/**
 * A record of the log as bytes, and the bytes that a node keeps for a slot. Numbers are little-endian.
 *
 *     slot     4: length of the head | head, JSON: [round, proposer, id, previous] | record
 *     record   4: length of the head | head, JSON, below | the values, memories, indexes and entries, one after the other
 *     head     { slot, state, commits, objects: [[key, bytes or -1: deleted]], buckets, clients, operations: [[name, value]],
 *                memory: [[name, bytes]], indexes: [[bucket, bytes]], tags: [[tag, position]],
 *                entries: [[bytes, whether it is there]], cleared: [number] }
 *
 * The last four are left out where they are empty, as in all records of earlier versions.
 *
 * Values are as `encodeValue` of @freshet/store/records draws them.
 */
import type { Accepted } from '@freshet/core/agreement'
import { storeDamaged } from '@freshet/store/engine'
import { encodeValue } from '@freshet/store/records'
import { type LogRecord, readEntry, readValue, spellEntry } from '../log/log-record.js'

type Pairs<Value> = readonly (readonly [string, Value])[]

interface RecordHead {
  readonly slot: number
  readonly state: LogRecord['state']
  readonly commits: LogRecord['commits']
  readonly objects: Pairs<number>
  readonly buckets: Pairs<number>
  readonly clients: Pairs<string>
  readonly operations: Pairs<string>
  readonly memory: Pairs<number>
  readonly indexes?: Pairs<number>
  readonly tags?: Pairs<number>
  readonly entries?: readonly (readonly [bytes: number, isThere: boolean])[]
  readonly cleared?: readonly number[]
}

const DELETED = -1

/** The id is stored with the slot. */
export function encodeRecord({ slot, state, commits, effects }: Omit<LogRecord, 'id'>): Uint8Array {
  const bodies: Uint8Array[] = []
  const lengthOf = (bytes: Uint8Array) => {
    bodies.push(bytes)
    return bytes.length
  }
  const { objects, buckets, clients, operations, memory, indexes, tags, entries, cleared } = effects
  const head: RecordHead = {
    ...{ slot, state, commits },
    objects: Array.from(objects, ([key, value]) => [
      key,
      value ? lengthOf(encodeValue(value.version, value)) : DELETED,
    ]),
    ...{ buckets: [...buckets], clients: [...clients], operations: [...operations] },
    memory: Array.from(memory, ([name, value]) => [name, lengthOf(value)]),
    ...(indexes.size > 0 && { indexes: Array.from(indexes, ([bucket, record]) => [bucket, lengthOf(record)]) }),
    ...(tags.size > 0 && { tags: [...tags] }),
    ...(entries.size > 0 && {
      entries: Array.from(entries, ([entry, isThere]) => [lengthOf(readEntry(entry)), isThere]),
    }),
    ...(cleared.size > 0 && { cleared: [...cleared] }),
  }
  return withHead(head, bodies)
}

export function decodeRecord(id: string, bytes: Uint8Array): LogRecord {
  const { head, rest } = headOf(bytes)
  const { slot, state, commits, ...kept } = head as RecordHead
  let at = 0
  const next = (length: number) => {
    at += length
    return rest.subarray(at - length, at)
  }
  return {
    ...{ slot, id, state, commits },
    effects: {
      objects: new Map(
        kept.objects.map(([key, length]) => [key, length === DELETED ? undefined : readValue(key, next(length))]),
      ),
      buckets: new Map(kept.buckets),
      clients: new Map(kept.clients),
      operations: new Map(kept.operations),
      memory: new Map(kept.memory.map(([name, length]) => [name, Buffer.from(next(length))])),
      indexes: new Map(kept.indexes?.map(([bucket, length]) => [bucket, Buffer.from(next(length))])),
      tags: new Map(kept.tags),
      entries: new Map(kept.entries?.map(([length, isThere]) => [spellEntry(next(length)), isThere])),
      cleared: new Set(kept.cleared),
    },
  }
}

export function encodeSlot({ ballot, entry }: Accepted<Uint8Array>): Uint8Array {
  return withHead([ballot.round, ballot.proposer, entry.id, entry.previous], [entry.value])
}

export function decodeSlot(bytes: Uint8Array): Accepted<Uint8Array> {
  const { head, rest } = headOf(bytes)
  const [round, proposer, id, previous] = head as [number, string, string, string]
  return { ballot: { round, proposer }, entry: { id, previous, value: rest } }
}

function withHead(head: unknown, bodies: readonly Uint8Array[]): Uint8Array {
  const text = Buffer.from(JSON.stringify(head))
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32LE(text.length)
  return Buffer.concat([length, text, ...bodies])
}

function headOf(bytes: Uint8Array): { readonly head: unknown; readonly rest: Buffer } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (buffer.length < 4) throw storeDamaged('a slot of the log does not hold a record of Freshet')
  const end = 4 + buffer.readUInt32LE()
  if (end > buffer.length) throw storeDamaged('a slot of the log is cut off')
  return { head: JSON.parse(buffer.toString('utf8', 4, end)), rest: buffer.subarray(end) }
}
