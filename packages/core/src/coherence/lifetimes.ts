/**
 * How long copies may live, and how long the window must therefore be:
 *
 *     window = longest lifetime still promised to any copy + longest time an answer takes + slack
 *
 * The slack covers everything that lets a copy live longer than it should, summed over the caches that a copy passes one
 * after another: how long each serves past expiry (Varnish's grace is ten seconds), the second that Age is rounded by, the
 * time on the way that a cache does not add to Age. And once: the time from reading the store's clock for a commit to the
 * commit being visible, and the drift of clocks. A cache that does not count Age, unless it is next to the server, or does not
 * send it, unless no other cache follows, adds a whole lifetime. That is not in the window: sessions detect such copies
 * by their position.
 *
 * A promised lifetime stays promised until the last copy with it has died, even if the configuration has been
 * lowered since, and across a restart. So a longer lifetime is remembered on disk before the first copy with it leaves
 * (`use`), and a lifetime that a restart finds remembered counts as promised a moment ago.
 *
 * Times are those of the store's clock.
 */
import { FreshetError } from '@freshet/protocol'

export interface LifetimesOptions {
  /** The lifetimes that an earlier run remembered. */
  readonly remembered?: Uint8Array
  readonly nowMs: number
  readonly responseMsMax: number
  readonly slackMs: number
}

/** A lifetime, and when it was promised last. */
interface PastLifetime {
  readonly lifetimeMs: number
  readonly lastMs: number
}

export class Lifetimes {
  readonly #extraMs: number
  /** The longest lifetime in use now; it is being promised all the time. */
  #currentMs = 0
  /** Longer lifetimes that are no longer promised, but whose copies may still be alive. */
  #past: readonly PastLifetime[]

  constructor({ remembered, nowMs, responseMsMax, slackMs }: LifetimesOptions) {
    this.#extraMs = responseMsMax + slackMs
    this.#past = (remembered ? parseLifetimes(remembered) : []).map(lifetimeMs => ({ lifetimeMs, lastMs: nowMs }))
  }

  windowMs(nowMs: number): number {
    const alive = this.#past.filter(past => this.#isAlive(past, nowMs)).map(past => past.lifetimeMs)
    return Math.max(this.#currentMs, ...alive) + this.#extraMs
  }

  /**
   * From now on the longest promised lifetime is `longestMs`. The result must be on disk before the first copy with a longer
   * lifetime than before is handed out; undefined if the remembered lifetimes do not change.
   */
  use(longestMs: number, nowMs: number): Uint8Array | undefined {
    const before = this.#remembered()
    if (longestMs < this.#currentMs) this.#past = [...this.#past, { lifetimeMs: this.#currentMs, lastMs: nowMs }]
    this.#past = this.#past.filter(past => past.lifetimeMs > longestMs && this.#isAlive(past, nowMs))
    this.#currentMs = longestMs
    const after = this.#remembered()
    return after === before ? undefined : new TextEncoder().encode(after)
  }

  #isAlive({ lifetimeMs, lastMs }: PastLifetime, nowMs: number): boolean {
    return nowMs <= lastMs + lifetimeMs + this.#extraMs
  }

  #remembered(): string {
    return JSON.stringify([this.#currentMs, ...this.#past.map(past => past.lifetimeMs)])
  }
}

function parseLifetimes(remembered: Uint8Array): readonly number[] {
  try {
    const lifetimes: unknown = JSON.parse(new TextDecoder().decode(remembered))
    if (Array.isArray(lifetimes) && lifetimes.every(isLifetime)) return lifetimes
  } catch (cause) {
    throw damaged(cause)
  }
  throw damaged()
}

function isLifetime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}

function damaged(cause?: unknown): FreshetError {
  return new FreshetError(
    'STORE_DAMAGED',
    'The lifetimes that the store remembers cannot be read, so the server does not know which copies are still alive. ' +
      'Restore the store from a backup.',
    { cause },
  )
}
