/**
 * Whether the server can do its work: the store has confirmed a write recently. A position alone would not show that, since it
 * is read from memory while the disk is full, or while the writing process is stopped.
 *
 * The probe always writes the same, at most once in `INTERVAL_MS`, however many requests come. In an embedded store the probe
 * is larger than most objects, so that it fails before they do: the writes that are refused may be those of other processes.
 * After one of this process's own writes was refused for lack of space, the probe is as large as the largest object.
 */
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { isPromise } from '../../http/maybe-promise.js'

const NAME = 'ready'
const PROBE_BYTES = 1024
const EMBEDDED_PROBE_BYTES = 64 * 1024
const INTERVAL_MS = 2000
/** How long a write may take, or how old the last one may be: stores have short pauses that load balancers need not notice. */
const CONFIRMED_MS = 4000

export interface ReadinessOptions {
  readonly store: Store
  /** The size of the largest object. */
  readonly bodyBytesMax: number
}

export class Readiness {
  readonly #options: ReadinessOptions
  #startedMs = Number.NEGATIVE_INFINITY
  #confirmedMs = Number.NEGATIVE_INFINITY
  #probing: Promise<void> | undefined
  #failure: { readonly error: unknown } | undefined
  #wasFull = false

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** Throws the error with which the store refuses writes, or STORE_UNAVAILABLE if it does not answer. */
  async check(): Promise<void> {
    const nowMs = performance.now()
    if (this.#probing === undefined && nowMs - this.#startedMs >= INTERVAL_MS) this.#probe(nowMs)
    if (this.#failure === undefined && nowMs - this.#confirmedMs < CONFIRMED_MS) return
    await this.#wait(Math.max(0, this.#startedMs + CONFIRMED_MS - nowMs))
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** Call with each error that a request failed with. */
  note(error: unknown): void {
    if (!isFull(error)) return
    this.#wasFull = true
    this.#failure = { error }
  }

  #probe(nowMs: number): void {
    const { store, bodyBytesMax } = this.#options
    const wasFull = this.#wasFull
    this.#startedMs = nowMs
    const write = (bytes: number) => store.remember(NAME, new Uint8Array(bytes))
    // Embedded stores answer synchronously.
    const usualBytes = isPromise(store.position()) ? PROBE_BYTES : EMBEDDED_PROBE_BYTES
    const probing = wasFull ? write(bodyBytesMax).then(() => write(usualBytes)) : write(usualBytes)
    this.#probing = probing
      .then(
        () => {
          this.#confirmedMs = performance.now()
          this.#failure = undefined
          this.#wasFull = false
        },
        error => {
          this.#failure = { error }
          this.#wasFull ||= isFull(error)
        },
      )
      .finally(() => {
        this.#probing = undefined
      })
  }

  /** Waits until the probe under way is done. Throws STORE_UNAVAILABLE if it takes longer. */
  async #wait(ms: number): Promise<void> {
    if (this.#probing === undefined) return
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(unconfirmed()), ms)
    })
    await Promise.race([this.#probing, late]).finally(() => clearTimeout(timer))
  }
}

function isFull(error: unknown): boolean {
  return error instanceof FreshetError && error.code === 'STORE_FULL'
}

function unconfirmed(): FreshetError {
  return new FreshetError('STORE_UNAVAILABLE', `The store has not confirmed a write for ${CONFIRMED_MS} ms.`)
}
