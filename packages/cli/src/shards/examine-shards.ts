/** Finds what is wrong on the shards: one line for each finding. */

import { misplacedCondition, placedAt, type ShardedDatabase, tableWithRows } from '@freshet/shards'
import {
  type Catalog,
  type Column,
  placedShards,
  quoteName,
  type Shard,
  type ShardMap,
  shardKeyOf,
} from '@freshet/shards/plan'

const TIMEOUT_MS = 60_000

interface Seen {
  readonly shard: Shard
  readonly catalog: Catalog
}

/** `onCount` is called before the rows of a table are counted, which takes longest. */
export async function examineShards(
  database: ShardedDatabase,
  onCount: (table: string) => void = () => undefined,
): Promise<readonly string[]> {
  const head = await database.log.head().catch(() => undefined)
  const { map, shards } = head === undefined ? database : await placedAt(database, head)
  const others = database.shards.filter(shard => !shards.includes(shard))
  const waiting = await Promise.all(others.map(shard => lookAtUnplaced(shard, map)))
  const outcomes = await Promise.all(shards.map(shard => lookAt(shard, head, map)))
  const unreachable = [
    ...waiting.flat(),
    ...outcomes.flatMap(({ findings }) => findings),
    ...differentRanges(database, map),
  ]
  const seen = outcomes.flatMap(({ catalog, shard }) => (catalog ? [{ shard, catalog }] : []))
  const alike = seen.flatMap(each => differences(each, seen[0]!, map))
  // Count rows only if the shards can be read and have the same tables.
  if (unreachable.length + alike.length > 0) return [...unreachable, ...alike]
  const misplaced = await Promise.all(shards.map((shard, i) => misplacedRows(shard, i, map, onCount)))
  return [...misplaced.flat(), ...(await globalDifferences(shards, map, onCount))]
}

/** Tables of an engine without transactions, such as MyISAM: a write to such a table can neither be rehearsed nor undone. */
export async function lastingTables(shard: Shard, map: ShardMap): Promise<readonly string[]> {
  const { lasting } = await shard.effects()
  return lasting
    .filter(({ table }) => shardKeyOf(map, table) !== undefined || map.global.includes(table))
    .map(
      ({ table, engine }) =>
        `${shard.name}: ${table} uses the engine ${engine}, which has no transactions. Change its engine: ALTER TABLE ${table} ENGINE=InnoDB.`,
    )
}

/** A shard without keys must be prepared, waiting for keys, and empty. */
async function lookAtUnplaced(shard: Shard, map: ShardMap): Promise<readonly string[]> {
  try {
    const table = await tableWithRows(shard, map)
    if (table !== undefined)
      return [
        `${shard.name}: it has rows of ${table}, but no range of keys, so no query reads it. Add "from", its first key, to its entry in the config; or, if it is new, empty its tables.`,
      ]
    const { isWaiting } = await shard.state()
    return isWaiting
      ? []
      : [`${shard.name}: it has no keys yet. To give it some: freshet shards add ${shard.name} --at KEY.`]
  } catch (error) {
    return [(error as Error).message]
  }
}

/** If rows were moved, the config should say so, for its readers. */
function differentRanges({ map }: ShardedDatabase, current: ShardMap): readonly string[] {
  const configured = new Map(placedShards(map)?.map(({ name, from }) => [name, from]))
  return (placedShards(current) ?? [])
    .filter(({ name, from }) => configured.get(name) !== from)
    .map(
      ({ name, from }) => `${name}: it has the keys from ${from} on. Add "from": ${from} to its entry in the config.`,
    )
}

async function lookAt(
  shard: Shard,
  head: number | undefined,
  map: ShardMap,
): Promise<{ shard: Shard; catalog?: Catalog; findings: readonly string[] }> {
  try {
    const { applied, obstacle, isChanging } = await shard.state()
    const isBehind = head !== undefined && applied < head
    return {
      shard,
      catalog: await shard.catalog(),
      findings: [
        ...(obstacle === undefined ? [] : [`${shard.name}: it refuses the next global write: ${obstacle}`]),
        ...(isChanging ? [`${shard.name}: its schema is being changed.`] : []),
        ...(await lastingTables(shard, map)),
        ...(isBehind ? [`${shard.name}: it has applied ${applied} of ${head} global writes.`] : []),
      ],
    }
  } catch (error) {
    return { shard, findings: [(error as Error).message] }
  }
}

function differences({ shard, catalog }: Seen, first: Seen, map: ShardMap): readonly string[] {
  return [...Object.keys(map.sharded), ...map.global].flatMap(table => {
    const columns = catalog.tables.get(table)
    if (columns === undefined) return [`${shard.name}: the table ${table} is missing.`]
    const key = shardKeyOf(map, table)
    const keyColumn = columns.find(({ name }) => name === key)
    if (key !== undefined && keyColumn === undefined)
      return [`${shard.name}: ${table} has no column ${key}, which is its key.`]
    if (keyColumn && keyColumn.type !== 'integer')
      return [`${shard.name}: ${table}.${key} must be a whole number to be a key.`]
    const other = describe(first.catalog.tables.get(table) ?? [])
    const isAlike = describe(columns) === other
    return isAlike ? [] : [`${shard.name}: ${table} has ${describe(columns)}; on ${first.shard.name} it has ${other}.`]
  })
}

function describe(columns: readonly Column[]): string {
  return columns.map(({ name, type, declared = type }) => `${name} ${declared}`).join(', ')
}

async function misplacedRows(
  shard: Shard,
  place: number,
  map: ShardMap,
  onCount: (table: string) => void,
): Promise<readonly string[]> {
  const findings: string[] = []
  for (const [table, key] of Object.entries(map.sharded)) {
    const column = quoteName(key, map.dialect)
    onCount(table)
    const count = await countOf(shard, table, map, ` WHERE ${misplacedCondition(column, place, map)}`)
    if (count !== '0') findings.push(`${shard.name}: ${count} rows of ${table} belong to other shards by their ${key}.`)
  }
  return findings
}

async function globalDifferences(
  shards: readonly Shard[],
  map: ShardMap,
  onCount: (table: string) => void,
): Promise<readonly string[]> {
  const findings: string[] = []
  for (const table of map.global) {
    onCount(table)
    const counts = await Promise.all(shards.map(shard => countOf(shard, table, map)))
    const other = counts.findIndex(count => count !== counts[0])
    if (other === -1) continue
    findings.push(
      `${shards[other]!.name}: ${table} has ${counts[other]} rows; on ${shards[0]!.name} it has ${counts[0]}.`,
    )
  }
  return findings
}

async function countOf(shard: Shard, table: string, { dialect }: ShardMap, where = ''): Promise<string> {
  const text = `SELECT COUNT(*) FROM ${quoteName(table, dialect)}${where}`
  const { rows } = await shard.read({ statement: { text, values: [] }, tables: [table], timeoutMs: TIMEOUT_MS })
  return String(rows[0]![0])
}
