/** What a server knows of the data it serves: who may see it, its buckets, recent objects, and how far the log has come. */
import type { Store } from '@freshet/core/store'
import { Access, type AccessConfig } from './access/access.js'
import type { RulesMemory } from './access/known-rules.js'
import type { StoredRulesChoice } from './access/put-own-rules.js'
import type { RateLimitConfig } from './access/rate-limits.js'
import { EventStreams } from './api/coherence/event-streams.js'
import { BucketDirectory } from './buckets/bucket-directory.js'
import { HotObjects } from './coherence/hot-objects.js'
import { LogFollower } from './coherence/log-follower.js'
import { PositionWaits } from './coherence/position-waits.js'
import type { ClientAddresses } from './http/client-addresses.js'
import type { Log } from './monitoring/log.js'
import { counter, type Gauge, gauge } from './monitoring/metrics.js'
import type { ServerSettings } from './settings/server-settings.js'

export interface ServedDataOptions {
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly clients: ClientAddresses
  readonly access?: AccessConfig | undefined
  readonly putsRules?: boolean
  readonly storedRules?: StoredRulesChoice | undefined
  readonly rulesMemory?: RulesMemory | undefined
  readonly limits?: RateLimitConfig | undefined
}

export class ServedData {
  readonly store: Store
  readonly settings: ServerSettings
  readonly log: Log
  readonly access: Access
  readonly buckets: BucketDirectory
  readonly hot: HotObjects
  readonly follower: LogFollower
  readonly waits: PositionWaits
  readonly events: EventStreams

  constructor({ access: config, putsRules = true, ...options }: ServedDataOptions) {
    const { store, settings, log, clients, storedRules, rulesMemory, limits } = options
    this.store = store
    this.settings = settings
    this.log = log
    this.buckets = new BucketDirectory(store, settings)
    this.hot = new HotObjects(settings.hotCacheBytesMax)
    this.access = new Access({ store, log, config, storedRules, limits, clients, putsRules, rulesMemory })
    this.follower = new LogFollower(store, settings, this.buckets, this.hot, this.access)
    this.waits = new PositionWaits(store, settings)
    this.events = new EventStreams({ follower: this.follower, settings, log })
    // Cached heads depend on the rules.
    this.access.onChange = () => this.buckets.revision++
    this.access.catchUp = () => this.follower.catchUp()
  }

  /** Ends requests that wait for an event. */
  endStreams(): void {
    this.waits.stop()
    this.events.stop()
  }

  gauges(): readonly Gauge[] {
    const { store, follower, buckets, events, waits } = this
    return [
      gauge('freshet_log_position', 'The position of the last known commit.', () => follower.position),
      gauge(
        'freshet_log_lag_seconds',
        'How long ago the server knew the whole log.',
        () => Math.max(0, store.nowMs() - follower.asOfMs) / 1000,
      ),
      gauge('freshet_sketch_segments', 'Closed segments in the window.', () => follower.sketch.size().segments),
      gauge('freshet_sketch_changes', 'Paths changed in the window.', () => follower.sketch.size().changes),
      gauge(
        'freshet_sketch_bytes',
        'The size of the sketch that a new reader receives.',
        () => follower.sketch.cost().bytes,
      ),
      gauge(
        'freshet_sketch_false_positive_rate',
        'How often the current sketch is expected to report an unchanged path as changed.',
        () => follower.sketch.cost().falsePositiveRate,
      ),
      gauge('freshet_buckets', 'Buckets.', () => buckets.size),
      gauge('freshet_event_clients', 'Readers of /coherence/events.', () => events.size, 'sum'),
      counter(
        'freshet_event_clients_cut',
        'Readers that were disconnected because they did not read.',
        () => events.cut,
      ),
      gauge('freshet_position_waiters', 'Requests waiting for a position.', () => waits.size, 'sum'),
    ]
  }
}
