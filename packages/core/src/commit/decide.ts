/**
 * Decides on a commit: whether it may be made, and with which effects. It reads the state through a view and changes nothing;
 * the caller applies the effects, all of them in one atomic step, or none.
 *
 * - An operation that was done before gets its first answer again, and has no effects.
 * - A commit is refused if a read or a list no longer holds, or if an addition would break a counter's bound. A refused commit
 *   has no effects.
 * - A commit that writes takes the position after the view's. One that writes nothing takes none; if it has an operation, the
 *   operation is remembered all the same, so that a late copy of it does nothing either.
 *
 * Every engine decides by this function, except for Redis, whose script decides by the same rules (a property test compares the
 * two).
 */
import { addTo, COUNTER_TYPE, judgeOperation, replayOf } from '../counters/index.js'
import {
  type Addition,
  type Commit,
  type CommitResult,
  type CounterRefusal,
  changedLists,
  type Operation,
  type Position,
  type PutWrite,
  type ReadVersion,
  type Write,
} from '../store/index.js'
import type { CommitView } from './commit-view.js'
import { decideIndexes, type IndexEffects } from './decide-indexes.js'

export interface Decision {
  readonly result: CommitResult
  /** Undefined: nothing changes. */
  readonly effects: Effects | undefined
}

export interface Effects {
  /** The commit's position; the position before it if nothing is written. */
  readonly position: Position
  /** The values, those of counters included. If empty, the log gets no entry. */
  readonly writes: readonly Write[]
  /** Undefined: no index or tag is touched. */
  readonly indexes: IndexEffects | undefined
  /** The operation to remember, if the commit has one. */
  readonly operation: Operation | undefined
  /** The new values of the counters. */
  readonly units: readonly number[]
}

export function decide(commit: Commit, view: CommitView): Decision {
  const { reads = NONE, lists = NONE, adds = NONE, operation } = commit
  if (operation !== undefined) {
    const judged = judgeOperation(operation, view, view.timeMs, view)
    if (judged.kind === 'replay') return withoutEffects(replayOf(judged.done))
    if (judged.kind === 'refused') {
      return withoutEffects({ committed: false, conflicts: NONE, refusedOperation: judged.reason })
    }
  }
  const conflicts = conflictsOf(reads, view)
  const changed = changedLists(lists, view)
  if (changed.length > 0) return withoutEffects({ committed: false, conflicts, changedLists: changed })
  if (conflicts.length > 0) return withoutEffects({ committed: false, conflicts })
  const sums = adds.length === 0 ? NO_SUMS : sumUp(adds, view)
  if ('refusedAdds' in sums) return withoutEffects({ committed: false, conflicts, ...sums })
  const { units } = sums
  const writes = sums.writes.length === 0 ? commit.writes : [...commit.writes, ...sums.writes]
  if (writes.length === 0) {
    const { position } = view
    const result: CommitResult = { committed: true, position }
    return operation
      ? { result, effects: { position, writes, indexes: undefined, operation, units } }
      : withoutEffects(result)
  }
  const position = view.position + 1
  const result: CommitResult = adds.length === 0 ? { committed: true, position } : { committed: true, position, units }
  return { result, effects: { position, writes, indexes: decideIndexes(writes, position, view), operation, units } }
}

function withoutEffects(result: CommitResult): Decision {
  return { result, effects: undefined }
}

function conflictsOf(reads: readonly ReadVersion[], view: CommitView): readonly ReadVersion[] {
  let conflicts: ReadVersion[] | undefined
  for (const { key, version } of reads) {
    const found = view.versionOf(key)
    if (found === version) continue
    conflicts ??= []
    conflicts.push({ key, version: found })
  }
  return conflicts ?? NONE
}

interface Sums {
  readonly units: readonly number[]
  readonly writes: readonly PutWrite[]
}

function sumUp(
  adds: readonly Addition[],
  view: CommitView,
): Sums | { readonly refusedAdds: readonly CounterRefusal[] } {
  const units: number[] = []
  const writes: PutWrite[] = []
  let refusedAdds: CounterRefusal[] | undefined
  for (const add of adds) {
    const sum = addTo(add, view.contentOf(add.key)?.body)
    if ('reason' in sum) {
      refusedAdds ??= []
      refusedAdds.push(sum)
    } else {
      units.push(sum.units)
      writes.push({ key: add.key, contentType: COUNTER_TYPE, body: sum.body })
    }
  }
  return refusedAdds ? { refusedAdds } : { units, writes }
}

const NONE: readonly never[] = []
const NO_SUMS: Sums = { units: NONE, writes: NONE }
