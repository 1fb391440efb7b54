/** What has to be done from time to time: let the sketch age, keep the promises on disk current, trim the log, forget operations. */
import type { Store } from '@freshet/core/store'
import type { Keeper } from '../fleet/keeper.js'
import { describeError, type Log } from '../operations/log.js'
import type { ServerSettings } from '../settings.js'
import type { LogFollower } from './log-follower.js'

export interface UpkeepOptions {
  readonly store: Store
  readonly follower: LogFollower
  readonly settings: ServerSettings
  readonly log: Log
  readonly keeper: Keeper
}

export class Upkeep {
  readonly #options: UpkeepOptions
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()
  #trimmedMs = 0

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#running = this.#running.then(() => this.#run())
    }, this.#options.settings.slotMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #run(): Promise<void> {
    const { follower, keeper, log } = this.#options
    try {
      await follower.catchUp()
      follower.advance()
      if (keeper.isKeeper) await this.#keep()
    } catch (error) {
      log.write('error', 'upkeep failed', describeError(error))
    }
  }

  async #keep(): Promise<void> {
    const { store, follower, settings } = this.#options
    const nowMs = store.nowMs()
    if (nowMs - this.#trimmedMs < settings.trimIntervalMs) return
    this.#trimmedMs = nowMs
    await follower.keepPromise()
    await store.trim(follower.trimmableTo)
    await store.forgetOperations()
  }
}
