/**
 * Elects the keeper: the one of several servers over one store that does what must be done only once: trim the log, forget
 * operations, run tasks, purge caches. The keeper has a hold in the store and renews it. When the keeper stops or hangs, the
 * next server takes over. For a moment two servers may be keepers, which does no harm, since each of these jobs can be done
 * twice.
 */
import { randomUUID } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { describeError, type Log } from '../monitoring/log.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { BackgroundLoop, RunningJob } from './background-loop.js'

export interface KeeperOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly loop: BackgroundLoop
}

const NAME = 'keeper'
const HOLD_MS = 10_000
const RENEW_MS = 2500

export class Keeper {
  readonly #options: KeeperOptions
  readonly #id = randomUUID()
  readonly #listeners: ((isKeeper: boolean) => void)[] = []
  /** How long this server is the keeper, by `performance.now()`. */
  #untilMs = 0
  #wasKeeper = false
  #asking: RunningJob | undefined

  constructor(options: KeeperOptions) {
    this.#options = options
  }

  get isKeeper(): boolean {
    return performance.now() < this.#untilMs
  }

  /** Calls the listener when this server becomes the keeper, and when it stops being the keeper. */
  onChange(listener: (isKeeper: boolean) => void): void {
    this.#listeners.push(listener)
  }

  async start(): Promise<void> {
    if (!this.#options.settings.mayKeep) return
    this.#asking = this.#options.loop.add({
      ...{ name: 'keeper', failure: 'asking the store who is the keeper failed', everyMs: RENEW_MS },
      run: () => this.#ask(),
    })
    await this.#asking.wake()
  }

  /** Call once the keeper's jobs have stopped. */
  async stop(): Promise<void> {
    await this.#asking?.stop()
    if (!this.isKeeper) return
    this.#untilMs = 0
    const { store, log } = this.#options
    try {
      await store.hold(NAME, this.#id, 0)
    } catch (error) {
      // The hold will expire by itself.
      log.write('error', 'giving up being the keeper failed', describeError(error))
    }
  }

  async #ask(): Promise<undefined> {
    // The time starts before the request, so the hold expires here before it does in the store.
    const askedMs = performance.now()
    try {
      if (await this.#options.store.hold(NAME, this.#id, HOLD_MS)) this.#untilMs = askedMs + HOLD_MS
    } finally {
      this.#tellListeners()
    }
  }

  #tellListeners(): void {
    const { isKeeper } = this
    if (isKeeper === this.#wasKeeper) return
    this.#wasKeeper = isKeeper
    for (const listener of this.#listeners) listener(isKeeper)
  }
}
