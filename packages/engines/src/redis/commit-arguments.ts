/** A commit as the arguments of its script, and the script's answer as a result: both are drawn in commit-script.ts. */
import type { ReplayedCommit } from '@freshet/core/counters'
import { replayOf } from '@freshet/core/counters'
import type {
  Addition,
  Commit,
  CommitResult,
  CounterRefusal,
  DoneOperation,
  Operation,
  OperationRefusal,
  ReadList,
  ReadVersion,
} from '@freshet/core/store'
import { bucketOfKey } from '@freshet/protocol'
import { encodeValue } from '@freshet/store/records'
import type { Reply } from './client.js'
import { type CommitIndexes, hasTags } from './commit-indexes.js'
import type { Layout } from './layout.js'
import type { Part } from './message-pack.js'

const NOTHING = new Uint8Array()
const TYPES_MAX = 1000
const types = new Map<string, Uint8Array>()

export function partsOf(commit: Commit, retentionMs: number, indexes?: CommitIndexes): Part[] {
  const { reads, lists, writes, adds, operation } = commit
  const rows = indexes?.rows()
  const parts: Part[] = []
  if (operation) pushOperation(parts, operation, retentionMs)
  if (reads) for (const { key, version } of reads) parts.push('r', key, version)
  if (lists) {
    for (const list of lists) {
      if (indexes && hasTags(list)) parts.push(...indexes.rowOf(list))
      else pushList(parts, list)
    }
  }
  if (rows) for (const part of rows.before) parts.push(part)
  for (const write of writes) {
    if ('delete' in write) parts.push('d', write.key)
    else parts.push('w', write.key, typeOf(write.contentType), write.body)
  }
  if (adds) for (const add of adds) pushAddition(parts, add)
  if (rows) for (const part of rows.after) parts.push(part)
  return parts
}

/** Every key in Redis that a commit may read or write, except for the head. */
export function keysOf(commit: Commit, layout: Layout, indexes?: CommitIndexes): string[] {
  const { reads = [], writes, adds = [], operation } = commit
  const keys = [layout.log, layout.meta, layout.buckets, layout.declared, layout.indexes]
  if (indexes) keys.push(...indexes.keys(layout))
  for (const { key } of [...reads, ...writes, ...adds]) keys.push(layout.values + key)
  for (const { key } of [...writes, ...adds]) keys.push(layout.ids + bucketOfKey(key))
  if (operation?.id.kind === 'own') keys.push(layout.clients, layout.windows + operation.id.client)
  if (operation?.id.kind === 'foreign') keys.push(layout.foreign, layout.foreignLog)
  return keys
}

/** The bytes of a value before its version, and between its version and its body. */
function typeOf(contentType: string): Uint8Array {
  const known = types.get(contentType)
  if (known) return known
  const record = encodeValue(0, { contentType, body: NOTHING })
  const type = Buffer.concat([record.subarray(0, 1), record.subarray(8)])
  if (types.size < TYPES_MAX) types.set(contentType, type)
  return type
}

function pushOperation(parts: Part[], { id, fingerprint, note = '' }: Operation, retentionMs: number): void {
  if (id.kind === 'foreign') {
    parts.push('f', id.id, fingerprint, note)
    return
  }
  parts.push('o', id.client, id.sequence, id.settledTo, id.madeMs, fingerprint, note, retentionMs)
}

function pushList(parts: Part[], { bucket, version, from, to, after, prefix, through }: ReadList): void {
  parts.push('l', bucket, version)
  for (const bound of [from, to, after, prefix, through]) parts.push(bound === undefined ? '' : `+${bound}`)
}

function pushAddition(parts: Part[], { key, by, decimals, min, max }: Addition): void {
  parts.push('a', key, by, decimals, boundOf(min), boundOf(max))
}

function boundOf(bound: number | undefined): Part {
  return bound === undefined || !Number.isFinite(bound) ? '' : bound
}

/** `failed` makes the error for a commit that could not be done. */
export function resultOf(commit: Commit, reply: Reply, failed: (why: string) => Error): CommitResult {
  if (Buffer.isBuffer(reply)) return committedOf(reply.toString('latin1', 1), commit)
  const [kind, ...parts] = (reply as readonly Buffer[]).map(String) as [string, ...string[]]
  if (kind === 'e') throw failed(parts[0]!)
  if (kind === 'p') return replayed(parts)
  if (kind === 'o') return { committed: false, conflicts: [], refusedOperation: parts[0] as OperationRefusal }
  if (kind === 'u') return { committed: false, conflicts: [], refusedAdds: refusalsOf(parts) }
  const count = 1 + 2 * Number(parts[0])
  const changedLists = versionsOf(parts.slice(count))
  return {
    committed: false,
    conflicts: versionsOf(parts.slice(1, count)),
    ...(changedLists.length === 0 ? {} : { changedLists }),
  }
}

function committedOf(text: string, { adds }: Commit): CommitResult {
  if (adds === undefined || adds.length === 0) return { committed: true, position: Number(text) }
  const [position, ...units] = text.split(' ').map(Number)
  return { committed: true, position: position!, units }
}

function replayed([position, units, note]: readonly string[]): ReplayedCommit {
  const done: DoneOperation = {
    fingerprint: '',
    position: Number(position),
    units: units === '' ? [] : units!.split(' ').map(Number),
    note: note!,
  }
  return replayOf(done)
}

function versionsOf(parts: readonly string[]): ReadVersion[] {
  return parts.flatMap((key, i) => (i % 2 === 0 ? [{ key, version: Number(parts[i + 1]) }] : []))
}

function refusalsOf(parts: readonly string[]): CounterRefusal[] {
  return parts.flatMap((key, i) => {
    if (i % 3 !== 0) return []
    const units = parts[i + 1] === '' ? undefined : Number(parts[i + 1])
    return [{ key, units, reason: parts[i + 2] as CounterRefusal['reason'] }]
  })
}
