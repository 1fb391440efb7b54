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
import { encodeValue } from '../embedded/records.js'
import type { Argument, Reply } from './client.js'

export function argumentsOf(commit: Commit, nowMs: number, retentionMs: number): Argument[] {
  const { reads, lists, writes, adds, operation } = commit
  const args: Argument[] = [`${nowMs}`]
  if (operation) pushOperation(args, operation, retentionMs)
  if (reads) for (const { key, version } of reads) args.push('r', key, `${version}`)
  if (lists) for (const list of lists) pushList(args, list)
  for (const write of writes) {
    if ('delete' in write) args.push('d', write.key)
    else args.push('w', write.key, encodeValue(0, write) as Buffer)
  }
  if (adds) for (const add of adds) pushAddition(args, add)
  return args
}

function pushOperation(args: Argument[], { id, fingerprint, note = '' }: Operation, retentionMs: number): void {
  if (id.kind === 'foreign') {
    args.push('f', id.id, fingerprint, note)
    return
  }
  args.push('o', id.client, `${id.sequence}`, `${id.settledTo}`, `${id.madeMs}`, fingerprint, note, `${retentionMs}`)
}

function pushList(args: Argument[], { bucket, version, from, to, after, prefix, through }: ReadList): void {
  args.push('l', bucket, `${version}`)
  for (const bound of [from, to, after, prefix, through]) args.push(bound === undefined ? '' : `+${bound}`)
}

function pushAddition(args: Argument[], { key, by, decimals, min, max }: Addition): void {
  args.push('a', key, `${by}`, `${decimals}`, boundOf(min), boundOf(max))
}

/** The script's numbers have no word for infinity, and need none. */
function boundOf(bound: number | undefined): string {
  return bound === undefined || !Number.isFinite(bound) ? '' : `${bound}`
}

/** Undefined: there is no store there. */
export function resultOf(commit: Commit, reply: Reply): CommitResult | undefined {
  if (Buffer.isBuffer(reply)) return committedOf(reply.toString('latin1', 1), commit)
  const [kind, ...parts] = (reply as readonly Buffer[]).map(String) as [string, ...string[]]
  if (kind === 'n') return undefined
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
