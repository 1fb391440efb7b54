/** Where rows are. The config says where they were at first; the log says what was moved since. */
import { FreshetError } from '@freshet/protocol'
import { type PlacedShard, placedMap, type QueryPlan, type Shard, type ShardMap } from '../plan/index.js'
import type { ShardedDatabase } from './sharded-database.js'

export interface PlacedDatabase {
  readonly map: ShardMap
  /** In the order of the map. */
  readonly shards: readonly Shard[]
}

export interface PlacedPlan extends QueryPlan {
  /** The shards that are asked. */
  readonly servers: readonly Shard[]
}

/** The placement of rows at a position of the log. Throws SHARD_UNAVAILABLE, SHARDS_UNSETTLED. */
export async function placedAt(database: ShardedDatabase, position: number): Promise<PlacedDatabase> {
  const { map, log } = database
  const placed = map.placement.kind === 'hash' ? undefined : await log.placedAt(position)
  return placedAs(database, placed)
}

function placedAs({ map, shards }: ShardedDatabase, placed: readonly PlacedShard[] | undefined): PlacedDatabase {
  const found = placed ? placedMap(map, placed) : map
  return { map: found, shards: found.shards.map(name => shardNamed(shards, name)) }
}

export function shardNamed(shards: readonly Shard[], name: string): Shard {
  const found = shards.find(shard => shard.name === name)
  if (found) return found
  throw new FreshetError(
    'SHARDS_UNSETTLED',
    `Rows were moved to the shard ${name}, which the config of this server does not name. Add it there: docs/guides/shards.md.`,
    { details: { shard: name } },
  )
}
