import type { MaybePromise } from '@freshet/core/store'

/** Stores in this process answer at once; the read path must not wait a turn for what is already there. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
