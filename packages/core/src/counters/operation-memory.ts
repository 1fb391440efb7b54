/**
 * Which operations were done, and what came of them: one way to ask, whatever the id is. Ids of our clients are remembered
 * by client (`client-window.ts`), others one by one. What is remembered is written in the same commit as the effect.
 */
import type { OperationId } from '@freshet/protocol'
import type { DoneOperation, Operation } from '../store/index.js'
import {
  type ClientWindow,
  EMPTY_WINDOW,
  type Judgement,
  judgeDone,
  judgeOwn,
  type RetentionOptions,
  rememberOwn,
} from './client-window.js'

/** Where it is remembered: tables of a store, seen from within a commit. */
export interface OperationTables {
  window(client: string): ClientWindow | undefined
  setWindow(client: string, window: ClientWindow): void
  foreign(id: string): ForeignOperation | undefined
  setForeign(id: string, operation: ForeignOperation): void
}

export interface ForeignOperation extends DoneOperation {
  readonly timeMs: number
}

export function judgeOperation(
  { id, fingerprint }: Operation,
  tables: OperationTables,
  nowMs: number,
  retention: RetentionOptions,
): Judgement {
  if (id.kind === 'own') {
    return judgeOwn(tables.window(id.client) ?? EMPTY_WINDOW, id, fingerprint, nowMs, retention)
  }
  const done = tables.foreign(id.id)
  return done === undefined ? { kind: 'new' } : judgeDone(done, fingerprint)
}

export function rememberOperation(
  { id, fingerprint, note = '' }: Operation,
  { position, units }: Pick<DoneOperation, 'position' | 'units'>,
  tables: OperationTables,
  nowMs: number,
): void {
  const done: DoneOperation = { fingerprint, position, units, note }
  if (id.kind === 'foreign') {
    tables.setForeign(id.id, { ...done, timeMs: nowMs })
  } else {
    tables.setWindow(id.client, rememberOwn(tables.window(id.client) ?? EMPTY_WINDOW, id, done, nowMs))
  }
}

/** The result of the first time. */
export function replayOf({ position, units, note }: DoneOperation): ReplayedCommit {
  return { committed: true, position, ...(units.length === 0 ? {} : { units }), replayed: { note } }
}

export interface ReplayedCommit {
  readonly committed: true
  readonly position: number
  readonly units?: readonly number[]
  readonly replayed: { readonly note: string }
}

export function hasForeignExpired(
  { timeMs }: ForeignOperation,
  nowMs: number,
  { retentionMs }: RetentionOptions,
): boolean {
  return nowMs - timeMs > retentionMs
}

/** What is remembered of an operation; undefined if nothing is. */
export function recallOperation(
  id: OperationId,
  tables: Pick<OperationTables, 'window' | 'foreign'>,
): DoneOperation | undefined {
  return id.kind === 'own' ? tables.window(id.client)?.done.get(id.sequence) : tables.foreign(id.id)
}
