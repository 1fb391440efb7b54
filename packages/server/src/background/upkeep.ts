/** Periodic work: age the sketch, keep the promises on disk up to date, trim the log, forget operations. */
import type { Store } from '@freshet/core/store'
import type { LogFollower } from '../coherence/log-follower.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { BackgroundLoop } from './background-loop.js'
import type { Keeper } from './keeper.js'

export interface UpkeepOptions {
  readonly store: Store
  readonly follower: LogFollower
  readonly settings: ServerSettings
  readonly keeper: Keeper
  readonly loop: BackgroundLoop
}

export class Upkeep {
  readonly #options: UpkeepOptions
  #trimmedMs = 0

  constructor(options: UpkeepOptions) {
    this.#options = options
  }

  start(): void {
    const { loop, settings } = this.#options
    loop.add({
      ...{ name: 'upkeep', failure: 'upkeep failed', everyMs: settings.slotMs },
      run: () => this.#run(),
    })
  }

  async #run(): Promise<undefined> {
    const { follower, keeper } = this.#options
    await follower.catchUp()
    follower.advance()
    if (keeper.isKeeper) await this.#keep()
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
