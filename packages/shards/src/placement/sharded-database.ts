/** What a server is given to answer queries over shards: connected by whoever starts it, and closed by them. */
import type { GlobalLog, Shard, ShardMap } from '../plan/index.js'

export interface ShardedDatabase {
  readonly map: ShardMap
  /** In the order of the map. */
  readonly shards: readonly Shard[]
  readonly log: GlobalLog
  /**
   * Whether others write to the shards themselves, past the arbitrator. No version tells of that: so results are found
   * anew each time, and no cache keeps them.
   */
  readonly hasLocalWrites: boolean
}
