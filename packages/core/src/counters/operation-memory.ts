/**
 * Which operations were done, with their results: one way to ask, for every kind of id. Ids of our clients are remembered
 * by client (`client-window.ts`), others one by one. The memory is written in the same commit as the effect.
 */
import type { OwnOperationId } from '@freshet/protocol'
import type { DoneOperation, Operation, Position } from '../store/index.js'
import {
  type ClientWindow,
  emptyWindow,
  type Judgement,
  judgeDone,
  judgeOwn,
  type RetentionOptions,
  rememberOwn,
} from './client-window.js'

/** Where operations are remembered: tables of a store, seen from within a commit. */
export interface OperationTables {
  window(client: string): ClientWindow | undefined
  /** Stores the window of this id's client, new or changed, after this operation was done. */
  setWindow(id: OwnOperationId, window: ClientWindow, done: DoneOperation): void
  /** 'seen': it was done or refused before, and its result is not known. 'full': no more operations can be remembered. */
  foreign(id: string): ForeignOperation | 'seen' | 'full' | undefined
  setForeign(id: string, operation: ForeignOperation): void
}

export interface ForeignOperation extends DoneOperation {
  readonly timeMs: number
}

export function judgeOperation(
  { id, fingerprint }: Operation,
  tables: Pick<OperationTables, 'window' | 'foreign'>,
  nowMs: number,
  retention: RetentionOptions,
): Judgement {
  if (id.kind === 'own') {
    return judgeOwn(tables.window(id.client), id, fingerprint, nowMs, retention)
  }
  const done = tables.foreign(id.id)
  if (done === undefined) return { kind: 'new' }
  if (done === 'seen') return { kind: 'refused', reason: 'seen' }
  if (done === 'full') return { kind: 'refused', reason: 'overflowing' }
  return judgeDone(done, fingerprint)
}

export function rememberOperation(
  { id, fingerprint, note = '' }: Operation,
  { position, units }: { readonly position: Position; readonly units: readonly number[] },
  tables: OperationTables,
  nowMs: number,
): void {
  const done: DoneOperation = { fingerprint, position, units: units.length === 1 ? units[0]! : units, note }
  if (id.kind === 'foreign') {
    tables.setForeign(id.id, { ...done, timeMs: nowMs })
  } else {
    const window = tables.window(id.client) ?? emptyWindow()
    rememberOwn(window, id, done, nowMs)
    tables.setWindow(id, window, done)
  }
}

/** The result of the first time. */
export function replayOf({ position, units, note }: DoneOperation): ReplayedCommit {
  const reached = typeof units === 'number' ? [units] : units
  return { committed: true, position, ...(reached.length === 0 ? {} : { units: reached }), replayed: { note } }
}

export interface ReplayedCommit {
  readonly committed: true
  readonly position: number
  readonly units?: readonly number[]
  readonly replayed: { readonly note: string }
}

export function hasForeignExpired(
  { timeMs }: Pick<ForeignOperation, 'timeMs'>,
  nowMs: number,
  { retentionMs }: RetentionOptions,
): boolean {
  return nowMs - timeMs > retentionMs
}
