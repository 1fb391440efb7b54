/**
 * Jobs that one of several servers over the same data does: the keeper. A job is woken when this server becomes the keeper, and
 * when the log has something for it, no matter which server wrote it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { LogEntry } from '@freshet/core/store'
import type { LogFollower } from '../coherence/log-follower.js'
import type { BackgroundLoop } from './background-loop.js'
import type { Keeper } from './keeper.js'

export interface KeeperJobsOptions {
  readonly follower: LogFollower
  readonly keeper: Keeper
  readonly loop: BackgroundLoop
}

export interface KeeperJob {
  readonly name: string
  /** The log message when the job fails. */
  readonly failure: string
  /** Whether a commit may have made work. */
  isWokenBy(entry: LogEntry): boolean
  run(): Promise<void>
}

const RETRY_MS = 1000

export class KeeperJobs {
  readonly #options: KeeperJobsOptions

  constructor(options: KeeperJobsOptions) {
    this.#options = options
  }

  add({ name, failure, isWokenBy, run }: KeeperJob): void {
    const { follower, keeper, loop } = this.#options
    const runIfKeeper = async () => {
      if (this.mayWork) await run()
      return undefined
    }
    const job = loop.add({ name, failure, retryMs: RETRY_MS, run: runIfKeeper })
    keeper.onChange(isKeeper => {
      if (isKeeper) job.wake()
    })
    follower.onOwnChange(entries => {
      if (entries.some(isWokenBy)) job.wake()
    })
    job.wake()
  }

  /** Long-running work checks this between its steps. */
  get mayWork(): boolean {
    return this.#options.keeper.isKeeper && !this.#options.loop.isStopping
  }

  /** Takes steps until one returns false. Requests get their turn between two steps. */
  async repeat(step: () => Promise<boolean>): Promise<void> {
    while (this.mayWork && (await step())) await nextTurn()
  }
}
