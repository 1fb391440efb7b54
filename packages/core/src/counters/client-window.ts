/**
 * What is remembered of one client's operations: those it may still send again, with what came of them. A client says with
 * each operation which ones it has settled, so a window holds about as many as it has under way: after a million operations
 * of a thousand clients some tens of bytes for each client. (An anti-replay window, RFC 4303 section 3.4.3, has a bit for
 * each of the last so many instead; it could not give the first answer again.)
 *
 * Invariants:
 * - An operation that was applied is in `done`, or settled, until the whole window has expired.
 * - What is settled is never applied, whether it was before or not: its client does not wait for it any more.
 * - A window expires only when every operation that it could know of is too old to be taken.
 *
 * Times are the store's clock. A client's own comparison with it may be off by a little, either way.
 */
import type { OwnOperationId } from '@freshet/protocol'
import type { DoneOperation, OperationRefusal } from '../store/index.js'

export interface ClientWindow {
  readonly settledTo: number
  /** When the last operation was applied. */
  readonly lastMs: number
  readonly done: ReadonlyMap<number, DoneOperation>
  /** Others have it, too: before it is changed it is copied. */
  readonly isShared?: boolean
}

export type Judgement =
  | { readonly kind: 'new' }
  | { readonly kind: 'replay'; readonly done: DoneOperation }
  | { readonly kind: 'refused'; readonly reason: OperationRefusal }

export interface RetentionOptions {
  /** How long after it was made an operation is taken, and so how long it must be remembered. */
  readonly retentionMs: number
}

export const RETENTION_MS_DEFAULT: number = 24 * 3600 * 1000
export const EMPTY_WINDOW: ClientWindow = { settledTo: 0, lastMs: 0, done: new Map(), isShared: true }
/** How far a client's idea of the store's clock may be ahead. */
export const AHEAD_MS_MAX = 60_000
/** So many operations a client may have under way. */
export const UNSETTLED_MAX = 4096

export function judgeOwn(
  window: ClientWindow,
  id: OwnOperationId,
  fingerprint: string,
  nowMs: number,
  { retentionMs }: RetentionOptions,
): Judgement {
  const done = window.done.get(id.sequence)
  if (done !== undefined) return judgeDone(done, fingerprint)
  if (id.sequence <= window.settledTo) return { kind: 'refused', reason: 'settled' }
  if (id.madeMs < nowMs - retentionMs) return { kind: 'refused', reason: 'expired' }
  if (id.madeMs > nowMs + AHEAD_MS_MAX) return { kind: 'refused', reason: 'early' }
  const unsettled = countAfter(window, id.settledTo)
  return unsettled >= UNSETTLED_MAX ? { kind: 'refused', reason: 'overflowing' } : { kind: 'new' }
}

export function judgeDone(done: DoneOperation, fingerprint: string): Judgement {
  return done.fingerprint === fingerprint ? { kind: 'replay', done } : { kind: 'refused', reason: 'mismatched' }
}

/**
 * The window after an operation that was judged to be new has been applied. Unless `window` is shared, it is not to be used
 * any more: a copy for each of a thousand operations that come together would cost a thousand times a thousand.
 */
export function rememberOwn(
  window: ClientWindow,
  id: OwnOperationId,
  done: DoneOperation,
  nowMs: number,
): ClientWindow {
  const settledTo = Math.max(window.settledTo, id.settledTo)
  const kept = keepAfter(window, settledTo).set(id.sequence, done)
  return { settledTo, lastMs: Math.max(window.lastMs, nowMs), done: kept }
}

function keepAfter({ settledTo: before, done, isShared }: ClientWindow, settledTo: number): Map<number, DoneOperation> {
  if (isShared) {
    const kept = new Map<number, DoneOperation>()
    for (const [sequence, operation] of done) if (sequence > settledTo) kept.set(sequence, operation)
    return kept
  }
  const kept = done as Map<number, DoneOperation>
  if (settledTo > before) for (const sequence of kept.keys()) if (sequence <= settledTo) kept.delete(sequence)
  return kept
}

/** Whether no operation that it knows of could be taken any more. */
export function hasExpired({ lastMs }: ClientWindow, nowMs: number, { retentionMs }: RetentionOptions): boolean {
  return nowMs - lastMs > retentionMs + AHEAD_MS_MAX
}

function countAfter({ done }: ClientWindow, settledTo: number): number {
  if (done.size < UNSETTLED_MAX) return done.size
  return [...done.keys()].filter(sequence => sequence > settledTo).length
}
