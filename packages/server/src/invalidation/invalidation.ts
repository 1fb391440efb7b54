/**
 * Tells the caches that we control of every change, for readers that know nothing of sketches. Nothing relies on it:
 * purging races with filling, services take their time, and no browser is reached.
 *
 * Each cache has a queue and a cursor of its own, so that one that is slow or down keeps no other waiting.
 */
import type { Store } from '@freshet/core/store'
import type { Keeper } from '../fleet/keeper.js'
import { describeError, type Log } from '../operations/log.js'
import type { Gauge } from '../operations/metrics.js'
import type { ServerSettings } from '../settings.js'
import type { CacheConfig } from './cache-config.js'
import { CacheInvalidator } from './cache-invalidator.js'
import { createCacheKind } from './create-cache-kind.js'

export interface InvalidationOptions {
  readonly caches: readonly CacheConfig[]
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly keeper: Keeper
}

export class Invalidation {
  readonly #options: InvalidationOptions
  /** Of several servers over the same data, only the keeper has caches to tell. */
  #caches: readonly CacheInvalidator[] = []
  #changing: Promise<void> = Promise.resolve()

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
    const { caches, store, settings, log } = this.#options
    this.#caches = caches.map(
      config => new CacheInvalidator({ config, kind: createCacheKind(config), store, settings, log }),
    )
    for (const result of await Promise.allSettled(this.#caches.map(cache => cache.start()))) {
      if (result.status === 'rejected') log.write('error', 'starting invalidation failed', describeError(result.reason))
    }
  }

  /** There is more in the log. */
  wake(): void {
    for (const cache of this.#caches) cache.wake()
  }

  async stop(): Promise<void> {
    await this.#changing
    await this.#end()
  }

  async #end(): Promise<void> {
    for (const result of await Promise.allSettled(this.#caches.map(cache => cache.stop()))) {
      if (result.status === 'rejected')
        this.#options.log.write('error', 'stopping invalidation failed', describeError(result.reason))
    }
    this.#caches = []
  }

  /** Measured: a purge drops one of the compressed forms of a URL, and the others are served again after it. */
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
    const each = (value: (cache: CacheInvalidator) => number) => () =>
      this.#caches.map(cache => ({ labels: `cache="${cache.name}"`, value: value(cache) }))
    const counter = 'counter' as const
    return [
      {
        name: `${PREFIX}_purges_total`,
        type: counter,
        help: 'Paths purged.',
        value: each(cache => cache.purges.value),
      },
      {
        name: `${PREFIX}_repeats_total`,
        type: counter,
        help: 'Those purged again, after the longest response time.',
        value: each(cache => cache.repeats.value),
      },
      {
        name: `${PREFIX}_failures_total`,
        type: counter,
        help: 'Batches that failed, and are tried again.',
        value: each(cache => cache.failures.value),
      },
      {
        name: `${PREFIX}_wide_total`,
        type: counter,
        help: 'Times that all of a cache was purged.',
        value: each(cache => cache.wide.value),
      },
      { name: `${PREFIX}_queue_paths`, help: 'Paths that wait.', value: each(cache => cache.queueLength) },
      { name: `${PREFIX}_lag_positions`, help: 'Positions not purged yet.', value: each(cache => cache.lag.positions) },
      {
        name: `${PREFIX}_lag_seconds`,
        help: 'The age of the oldest change not purged yet.',
        value: each(cache => cache.lag.ms / 1000),
      },
      { name: `${PREFIX}_down`, help: '1 for a cache that does not take purges.', value: each(cache => +cache.isDown) },
    ]
  }
}

const PREFIX = 'freshet_invalidation'
