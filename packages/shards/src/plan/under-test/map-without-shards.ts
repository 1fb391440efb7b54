/** For tests: a map to put shards into. */
import type { ShardMap } from '../shard-map.js'

export const MAP_WITHOUT_SHARDS: ShardMap = {
  dialect: 'mariadb',
  shards: [],
  placement: { kind: 'ranges', from: [] },
  sharded: {},
  global: [],
}
