/**
 * Whether the server can do its work: the store has confirmed a write lately. A position alone would not show that: it is read from memory
 * while the disk is full, or while the process that writes is stopped.
 *
 * What is written is always the same, and at most once in `INTERVAL_MS`, however many ask. In an embedded store it is larger than most
 * objects are, so that it no longer fits before they do not: other processes may be the ones whose writes are refused. After one of our own
 * writes was refused for want of space it is as large as an object may be.
 */
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { isPromise } from '../../http/maybe-promise.js'

const NAME = 'ready'
const PROBE_BYTES = 1024
const EMBEDDED_PROBE_BYTES = 64 * 1024
const INTERVAL_MS = 2000
/** So long a write may take, or be ago: stores have short pauses that no load balancer need know of. */
const CONFIRMED_MS = 4000

export interface ReadinessOptions {
  readonly store: Store
  /** Of the largest object. */
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

  /** Throws what the store refuses writes with, and STORE_UNAVAILABLE if it does not answer. */
  async check(): Promise<void> {
    const nowMs = performance.now()
    if (this.#probing === undefined && nowMs - this.#startedMs >= INTERVAL_MS) this.#probe(nowMs)
    if (this.#failure === undefined && nowMs - this.#confirmedMs < CONFIRMED_MS) return
    await this.#wait(Math.max(0, this.#startedMs + CONFIRMED_MS - nowMs))
    if (this.#failure !== undefined) throw this.#failure.error
  }

  /** For what requests fail with. */
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
    // Embedded stores answer at once.
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

  /** Until the write under way is done. Throws STORE_UNAVAILABLE if it is not by then. */
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
