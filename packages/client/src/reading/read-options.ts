/** The options of one read. */
import type { ReadMode } from '@freshet/core/coherence'
import { FreshetError } from '@freshet/protocol'

/** The options of one read; they override the options of `connect`. */
export interface ReadOptions {
  /** How fresh it must be. Default: the option of `connect`, or 'session'. */
  readonly read?: ReadMode
  /** Gives the read up when it is aborted. */
  readonly signal?: AbortSignal
  /** The time limit of the whole operation in milliseconds, including retries. Default: the option of `connect`, or 10,000. */
  readonly timeoutMs?: number
}

/**
 * The mode of a read that reflects everything acknowledged longer ago than this. Throws OPTIONS_INVALID.
 *
 * @example
 * import { within } from '@freshet/client'
 *
 * const tea = await db.bucket('shop/products').get('tea', { read: within(500) }) // at most half a second old
 */
export function within(ms: number): ReadMode {
  return checkMode({ withinMs: ms })
}

/** Throws OPTIONS_INVALID. */
export function checkMode(mode: ReadMode): ReadMode {
  if (mode === 'any' || mode === 'session' || mode === 'current') return mode
  if (typeof mode === 'object' && mode !== null && mode.withinMs >= 0) return mode
  throw new FreshetError(
    'OPTIONS_INVALID',
    `read must be 'any', 'session', 'current' or within(ms) with ms of at least 0, not ${JSON.stringify(mode)}.`,
  )
}
