/**
 * Purges every change from the caches that we control, for readers that know nothing of sketches. No guarantee depends on it:
 * purges race with fills, services take their time, and purges do not reach browsers.
 *
 * Each cache has its own queue and cursor, so a cache that is slow or down does not delay the others.
 */
import type { Store } from '@freshet/core/store'
import type { CacheConfig } from '../invalidation/cache-config.js'
import { createCacheKind } from '../invalidation/kinds/create-cache-kind.js'
import { describeError, type Log } from '../monitoring/log.js'
import { counter, type Gauge, gauge } from '../monitoring/metrics.js'
import type { ServerSettings } from '../settings/server-settings.js'
import type { BackgroundLoop } from './background-loop.js'
import { CacheInvalidator } from './cache-invalidator.js'
import type { Keeper } from './keeper.js'

export interface InvalidationOptions {
  readonly caches: readonly CacheConfig[]
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly keeper: Keeper
  readonly loop: BackgroundLoop
}

type CacheGauge = readonly [typeof counter, name: string, help: string, measure: (cache: CacheInvalidator) => number]

const CACHE_GAUGES: readonly CacheGauge[] = [
  [counter, 'purges_total', 'Paths purged.', ({ purges }) => purges.value],
  [counter, 'repeats_total', 'Paths purged again, after the longest response time.', ({ repeats }) => repeats.value],
  [counter, 'failures_total', 'Batches that failed, and are retried.', ({ failures }) => failures.value],
  [counter, 'wide_total', 'How often a whole cache was purged.', ({ wide }) => wide.value],
  [gauge, 'queue_paths', 'Paths waiting to be purged.', ({ queueLength }) => queueLength],
  [gauge, 'lag_positions', 'Positions that have not been purged yet.', ({ lag }) => lag.positions],
  [gauge, 'lag_seconds', 'The age of the oldest change that has not been purged yet.', ({ lag }) => lag.ms / 1000],
  [gauge, 'down', '1 for a cache that does not accept purges.', ({ isDown }) => +isDown],
]

export class Invalidation {
  readonly #options: InvalidationOptions
  /** Of several servers over the same data, only the keeper purges caches. Empty on the others. */
  #caches: readonly CacheInvalidator[] = []
  #changing: Promise<void> = Promise.resolve()
  #stopListening: () => void = () => undefined

  constructor(options: InvalidationOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    const { caches, keeper } = this.#options
    if (caches.length === 0) return
    this.#warnOfForms()
    keeper.onChange(isKeeper => {
      this.#changing = this.#changing.then(() => (isKeeper ? this.#begin() : this.#end()))
    })
    if (keeper.isKeeper) await this.#begin()
  }

  async #begin(): Promise<void> {
    const { caches, store, settings, log, loop } = this.#options
    this.#caches = caches.map(
      config => new CacheInvalidator({ config, kind: createCacheKind(config), store, settings, log, loop }),
    )
    this.#stopListening = store.onCommit(() => {
      for (const cache of this.#caches) cache.wake()
    })
    for (const result of await Promise.allSettled(this.#caches.map(cache => cache.start()))) {
      if (result.status === 'rejected') log.write('error', 'starting invalidation failed', describeError(result.reason))
    }
  }

  async stop(): Promise<void> {
    await this.#changing
    await this.#end()
  }

  async #end(): Promise<void> {
    this.#stopListening()
    for (const result of await Promise.allSettled(this.#caches.map(cache => cache.stop()))) {
      if (result.status === 'rejected')
        this.#options.log.write('error', 'stopping invalidation failed', describeError(result.reason))
    }
    this.#caches = []
  }

  /** Measured: these caches drop only one compressed form of a URL on a purge, and keep serving the others. */
  #warnOfForms(): void {
    const { caches, settings, log } = this.#options
    const { compressBytesMin, bodyBytesMax, listBytesMax } = settings
    const concerned = caches.filter(({ kind }) => kind === 'squid' || kind === 'nginx').map(({ name }) => name)
    const longest = Math.max(bodyBytesMax, listBytesMax)
    if (concerned.length === 0 || compressBytesMin > longest) return
    const message = `these caches drop only one compressed form of an object; set compressBytesMin above ${longest}`
    log.write('info', message, { caches: concerned })
  }

  gauges(): readonly Gauge[] {
    if (this.#options.caches.length === 0) return []
    return CACHE_GAUGES.map(([kind, name, help, measure]) =>
      kind(`freshet_invalidation_${name}`, help, () =>
        this.#caches.map(cache => ({ labels: `cache="${cache.name}"`, value: measure(cache) })),
      ),
    )
  }
}
