/** What a server needs to answer queries over shards. The caller that starts the server connects it, and closes it. */
import type { GlobalLog, Shard, ShardMap } from '../plan/index.js'

export interface ShardedDatabase {
  readonly map: ShardMap
  /** In the order of the map. */
  readonly shards: readonly Shard[]
  readonly log: GlobalLog
  /**
   * Whether others write to the shards directly, and not through the arbitrator. No version shows such writes: so results are
   * computed again each time, and no cache keeps them.
   */
  readonly hasLocalWrites: boolean
}
