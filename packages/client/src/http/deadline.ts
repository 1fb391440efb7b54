/**
 * The end of one operation, whichever comes first: its time is up, its caller gave up, or the connection was closed. The
 * signal's reason is the error to throw. Implemented by hand instead of with `AbortSignal.any`, which in some versions of Node
 * kept every signal alive that was ever combined with a long-lived one.
 */
import { FreshetError } from '@freshet/protocol'
import { onAbort } from './on-abort.js'

export interface DeadlineOptions {
  readonly timeoutMs: number
  /** For the message: `GET /db/shop/products/42`. */
  readonly what: string
  readonly signals: readonly (AbortSignal | undefined)[]
}

export class Deadline {
  readonly #controller = new AbortController()
  readonly #timer: ReturnType<typeof setTimeout>
  readonly #stopWaiting: readonly (() => void)[]

  constructor({ timeoutMs, what, signals }: DeadlineOptions) {
    this.#timer = setTimeout(() => this.#controller.abort(timedOut(what, timeoutMs)), timeoutMs)
    this.#stopWaiting = signals
      .filter(signal => signal !== undefined)
      .map(signal => onAbort(signal, () => this.#controller.abort(signal.reason)))
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Must be called when the operation is over, in success or failure; otherwise its timer keeps running. */
  end(): void {
    clearTimeout(this.#timer)
    for (const stop of this.#stopWaiting) stop()
  }
}

function timedOut(what: string, timeoutMs: number): FreshetError {
  return new FreshetError(
    'REQUEST_TIMEOUT',
    `${what} did not finish within ${Math.ceil(timeoutMs)} ms. Allow more with timeoutMs.`,
    { details: { outcome: 'unknown' } },
  )
}

/** The error of an operation that only reads: whatever happened on the way, nothing was done. */
export function ofReading(error: unknown): unknown {
  if (!(error instanceof FreshetError) || error.details.outcome !== 'unknown') return error
  const { code, message, cause, details } = error
  return new FreshetError(code, message, { cause, details: { ...details, outcome: 'not-done' } })
}

/** The promise's outcome, or a rejection with the signal's reason as soon as that is aborted. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason))
    promise.then(resolve, reject).finally(stop)
  })
}

/** Waits; rejects with the signal's reason if it is aborted meanwhile. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop()
      resolve()
    }, delayMs)
    const stop = onAbort(signal, () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}
