/** How one read is to be done. */
import type { ReadMode } from '@freshet/core/coherence'
import { FreshetError } from '@freshet/protocol'

/** How one read is done, where it is not as `connect` says. */
export interface ReadOptions {
  /** How fresh it must be. Default: what `connect` was given, else 'session'. */
  readonly read?: ReadMode
  readonly signal?: AbortSignal
  /** For the whole operation, with all it may need. */
  readonly timeoutMs?: number
}

/** A read that reflects everything acknowledged longer ago than this. */
export function within(ms: number): ReadMode {
  return checkMode({ withinMs: ms })
}

/** Throws OPTIONS_INVALID. */
export function checkMode(mode: ReadMode): ReadMode {
  if (mode === 'any' || mode === 'session' || mode === 'current') return mode
  if (typeof mode === 'object' && mode !== null && mode.withinMs >= 0) return mode
  throw new FreshetError(
    'OPTIONS_INVALID',
    `read must be 'any', 'session', 'current' or within(ms) with ms at least 0, not ${JSON.stringify(mode)}.`,
  )
}
