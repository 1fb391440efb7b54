/**
 * The operations of one client that it may still send again, with their results. A client says with each operation which
 * ones it has settled, so a window holds about as many as the client has under way: after a million operations of a thousand
 * clients, some tens of bytes for each client. (An anti-replay window, RFC 4303 section 3.4.3, instead has a bit for each of
 * the last n operations; it could not give the first answer again.)
 *
 * Invariants:
 * - An operation that was applied is in `done`, or settled, until the whole window has expired.
 * - A settled operation is never applied, whether it was applied before or not: its client no longer waits for it.
 * - A window expires only when every operation that it could know of is too old to be accepted.
 *
 * Times are the store's clock. A client's estimate of that clock may be off by a little, either way.
 */
import type { OwnOperationId } from '@freshet/protocol'
import type { DoneOperation, OperationRefusal } from '../store/index.js'
import { Unsettled } from './unsettled.js'

export interface ClientWindow {
  settledTo: number
  /** When the last operation was applied. */
  lastMs: number
  readonly done: Unsettled
}

export type Judgement =
  | { readonly kind: 'new' }
  | { readonly kind: 'replay'; readonly done: DoneOperation }
  | { readonly kind: 'refused'; readonly reason: OperationRefusal }

export interface RetentionOptions {
  /** How long after it was made an operation is accepted, and so how long it must be remembered. */
  readonly retentionMs: number
}

export const RETENTION_MS_DEFAULT: number = 24 * 3600 * 1000
/** How far a client's idea of the store's clock may be ahead. */
export const AHEAD_MS_MAX = 60_000
/** How many operations a client may have under way. */
export const UNSETTLED_MAX = 4096

export function emptyWindow(): ClientWindow {
  return { settledTo: 0, lastMs: 0, done: new Unsettled() }
}

/** `window` is undefined for an unknown client. */
export function judgeOwn(
  window: ClientWindow | undefined,
  id: OwnOperationId,
  fingerprint: string,
  nowMs: number,
  { retentionMs }: RetentionOptions,
): Judgement {
  const done = window?.done.get(id.sequence)
  if (done !== undefined) return judgeDone(done, fingerprint)
  if (window !== undefined && id.sequence <= window.settledTo) return { kind: 'refused', reason: 'settled' }
  if (id.madeMs < nowMs - retentionMs) return { kind: 'refused', reason: 'expired' }
  if (id.madeMs > nowMs + AHEAD_MS_MAX) return { kind: 'refused', reason: 'early' }
  if (window !== undefined && isFull(window, id.settledTo)) return { kind: 'refused', reason: 'overflowing' }
  return NEW
}

const NEW: Judgement = { kind: 'new' }

export function judgeDone(done: DoneOperation, fingerprint: string): Judgement {
  return done.fingerprint === fingerprint ? { kind: 'replay', done } : { kind: 'refused', reason: 'mismatched' }
}

/** Records that an operation which was judged to be new has been applied. */
export function rememberOwn(
  window: ClientWindow,
  id: Pick<OwnOperationId, 'sequence' | 'settledTo'>,
  done: DoneOperation,
  nowMs: number,
): void {
  if (id.settledTo > window.settledTo) {
    window.settledTo = id.settledTo
    window.done.dropTo(id.settledTo)
  }
  window.done.add(id.sequence, done)
  if (nowMs > window.lastMs) window.lastMs = nowMs
}

/** Whether every operation that it knows of is too old to be accepted. */
export function hasExpired({ lastMs }: ClientWindow, nowMs: number, { retentionMs }: RetentionOptions): boolean {
  return nowMs - lastMs > retentionMs + AHEAD_MS_MAX
}

function isFull({ done }: ClientWindow, settledTo: number): boolean {
  return done.size >= UNSETTLED_MAX && done.countAfter(settledTo) >= UNSETTLED_MAX
}
