/**
 * All the background work of a server, on one loop: the election of the keeper, upkeep, tasks, counting for quotas, purging
 * caches.
 */
import type { Store } from '@freshet/core/store'
import type { Access } from '../access/access.js'
import type { BucketDirectory } from '../buckets/bucket-directory.js'
import type { SchemaGuard } from '../buckets/schema-guard.js'
import type { LogFollower } from '../coherence/log-follower.js'
import type { CacheConfig } from '../invalidation/cache-config.js'
import type { Log } from '../monitoring/log.js'
import type { Gauge } from '../monitoring/metrics.js'
import type { ServerRecorder } from '../recording/server-recorder.js'
import type { ServerSettings } from '../settings/server-settings.js'
import { BackgroundLoop } from './background-loop.js'
import { Invalidation } from './invalidation.js'
import { Keeper } from './keeper.js'
import { KeeperJobs } from './keeper-jobs.js'
import { TaskRunner } from './task-runner.js'
import { Upkeep } from './upkeep.js'
import { UsageCounter } from './usage-counter.js'

export interface BackgroundOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly access: Access
  readonly buckets: BucketDirectory
  readonly follower: LogFollower
  readonly guard: SchemaGuard
  readonly recorder: ServerRecorder | undefined
  readonly caches: readonly CacheConfig[]
}

export class Background {
  readonly #loop: BackgroundLoop
  readonly #keeper: Keeper
  readonly #upkeep: Upkeep
  readonly #tasks: TaskRunner
  readonly #usage: UsageCounter
  readonly #invalidation: Invalidation

  constructor(options: BackgroundOptions) {
    this.#loop = new BackgroundLoop(options.log)
    this.#keeper = new Keeper({ ...options, loop: this.#loop })
    const shared = { ...options, loop: this.#loop, keeper: this.#keeper }
    this.#upkeep = new Upkeep(shared)
    const jobs = new KeeperJobs(shared)
    this.#tasks = new TaskRunner({ ...shared, jobs })
    this.#usage = new UsageCounter({ ...shared, jobs })
    this.#invalidation = new Invalidation(shared)
  }

  /** Resolves when the keeper is known. */
  async start(): Promise<void> {
    await this.#keeper.start()
    this.#upkeep.start()
    this.#tasks.start()
    this.#usage.start()
    await this.#invalidation.start()
  }

  /** Resolves when all background work has stopped, and another server may become the keeper. */
  async stop(): Promise<void> {
    await this.#invalidation.stop()
    await this.#loop.stop()
    await this.#keeper.stop()
  }

  gauges(): readonly Gauge[] {
    return this.#invalidation.gauges()
  }
}
