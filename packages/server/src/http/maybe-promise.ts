import type { MaybePromise } from '@freshet/core/store'

/**
 * Stores in this process answer synchronously. The read path must not wait a turn of the event loop for a value that is already
 * there.
 */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
