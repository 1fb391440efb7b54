/** The options of one read. */
import type { ReadMode } from '@freshet/core/coherence'
import { FreshetError } from '@freshet/protocol'

/** The options of one read; they override the options of `connect`. */
export interface ReadOptions {
  /** How fresh it must be. Default: the option of `connect`, or 'session'. */
  readonly read?: ReadMode
  readonly signal?: AbortSignal
  /** The time limit of the whole operation, including retries. */
  readonly timeoutMs?: number
}

/** The mode of a read that reflects everything acknowledged longer ago than this. */
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
