/**
 * Which of several servers over one store does what is to be done once: trim the log, forget operations, do tasks, tell caches of
 * changes. One holds that in the store and renews it; when it goes, or hangs, the next takes over. For a moment two may do it,
 * which does no harm: each of these can be done twice.
 */
import { randomUUID } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { describeError, type Log } from '../operations/log.js'
import type { ServerSettings } from '../settings.js'

export interface KeeperOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
}

const NAME = 'keeper'
const HOLD_MS = 10_000
const RENEW_MS = 2500

export class Keeper {
  readonly #options: KeeperOptions
  readonly #id = randomUUID()
  readonly #listeners: ((isKeeper: boolean) => void)[] = []
  /** By `performance.now()`. */
  #untilMs = 0
  #wasKeeper = false
  #timer: NodeJS.Timeout | undefined
  #asking: Promise<void> = Promise.resolve()

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  get isKeeper(): boolean {
    return performance.now() < this.#untilMs
  }

  /** Calls the listener when this server becomes the keeper, and when it is no longer. */
  onChange(listener: (isKeeper: boolean) => void): void {
    this.#listeners.push(listener)
  }

  async start(): Promise<void> {
    if (!this.#options.settings.mayKeep) return
    this.#timer = setInterval(() => {
      this.#asking = this.#asking.then(() => this.#ask())
    }, RENEW_MS).unref()
    await this.#ask()
  }

  /** When what a keeper does has stopped. */
  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#asking
    if (!this.isKeeper) return
    this.#untilMs = 0
    await this.#hold(0)
  }

  async #ask(): Promise<void> {
    // Its time begins before it is asked for, so it is over here before it is in the store.
    const askedMs = performance.now()
    if (await this.#hold(HOLD_MS)) this.#untilMs = askedMs + HOLD_MS
    const { isKeeper } = this
    if (isKeeper === this.#wasKeeper) return
    this.#wasKeeper = isKeeper
    for (const listener of this.#listeners) listener(isKeeper)
  }

  async #hold(ms: number): Promise<boolean> {
    const { store, log } = this.#options
    try {
      return await store.hold(NAME, this.#id, ms)
    } catch (error) {
      log.write('error', 'asking the store who is the keeper failed', describeError(error))
      return false
    }
  }
}
