/**
 * Which rows are where. All sharded tables are divided by one whole number, their key, in the same way: so rows with the same
 * key are on the same shard, in whichever table they are. Global tables are whole on every shard.
 *
 * Ranges: shard i has the keys from `from[i]` to before `from[i + 1]`; the first has all that are smaller, the last all that
 * are larger. Hash: shard `hash(key) mod N`.
 */
export type Dialect = 'mariadb' | 'postgres'

export type Placement =
  | { readonly kind: 'ranges'; readonly from: readonly number[] }
  | { readonly kind: 'hash'; readonly hashOf: (key: number) => number }

export interface ShardMap {
  readonly dialect: Dialect
  /** Their names, in the order of the placement. */
  readonly shards: readonly string[]
  readonly placement: Placement
  /** Each sharded table with the column that is its key. */
  readonly sharded: Readonly<Record<string, string>>
  readonly global: readonly string[]
}

/** The key of a sharded table; undefined if it is not one. A table may be called `constructor`. */
export function shardKeyOf({ sharded }: Pick<ShardMap, 'sharded'>, table: string): string | undefined {
  return Object.hasOwn(sharded, table) ? sharded[table] : undefined
}

/** A shard with the first of its keys. */
export interface PlacedShard {
  readonly name: string
  readonly from: number
}

/** The map with rows placed on these shards. */
export function placedMap(map: ShardMap, placed: readonly PlacedShard[]): ShardMap {
  const placement: Placement = { kind: 'ranges', from: placed.map(({ from }) => from) }
  return { ...map, shards: placed.map(({ name }) => name), placement }
}

/** Undefined if rows are placed by hash. */
export function placedShards({ shards, placement }: ShardMap): readonly PlacedShard[] | undefined {
  if (placement.kind === 'hash') return undefined
  return shards.map((name, i) => ({ name, from: placement.from[i]! }))
}

/** Keys from `low` to `high`, both included; a single key if both are the same. */
export interface KeyRange {
  readonly low: number
  readonly high: number
}

export const EVERY_KEY: KeyRange = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY }
export const ALL_KEYS: readonly KeyRange[] = [EVERY_KEY]

/** The keys that a shard can have. */
export function rangeOfShard({ shards, placement }: ShardMap, shard: number): KeyRange {
  if (placement.kind === 'hash') return EVERY_KEY
  const { from } = placement
  return {
    low: shard === 0 ? Number.NEGATIVE_INFINITY : from[shard]!,
    high: shard === shards.length - 1 ? Number.POSITIVE_INFINITY : from[shard + 1]! - 1,
  }
}

/** The shards that may have rows with such keys, as places in `shards`. */
export function shardsOf(map: ShardMap, ranges: readonly KeyRange[]): readonly number[] {
  const { shards, placement } = map
  if (placement.kind === 'ranges') {
    return shards
      .map((_, i) => i)
      .filter(i => {
        const { low, high } = rangeOfShard(map, i)
        return ranges.some(range => range.low <= high && range.high >= low)
      })
  }
  if (ranges.some(({ low, high }) => low !== high)) return shards.map((_, i) => i)
  return [...new Set(ranges.map(({ low }) => placement.hashOf(low) % shards.length))].sort((a, b) => a - b)
}

export function intersect(a: readonly KeyRange[], b: readonly KeyRange[]): readonly KeyRange[] {
  return a.flatMap(one =>
    b
      .map(other => ({ low: Math.max(one.low, other.low), high: Math.min(one.high, other.high) }))
      .filter(({ low, high }) => low <= high),
  )
}
