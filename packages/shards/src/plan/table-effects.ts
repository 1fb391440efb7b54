/**
 * What tables do by themselves when they are written to. By foreign keys, a global write may change more than the table that it
 * names: then the versions of those tables change too, or kept results of them would count as current. By triggers and by columns
 * that the engine fills in, a write may have a different effect on each shard: then it is refused.
 */
import { globalRefused } from './refusals.js'
import { type ShardMap, shardKeyOf } from './shard-map.js'

/** What a global write other than a schema change says it does. */
export interface TableChange {
  readonly kind: 'insert' | 'update' | 'delete'
  readonly table: string
  /** The columns that it gives values to. */
  readonly columns: readonly string[]
  /** Those of the columns whose values are written out, and are not NULL. */
  readonly certain: readonly string[]
}

/** A foreign key with its actions: what happens to the referring rows when the rows that they refer to change. */
export interface ForeignKey {
  readonly table: string
  readonly columns: readonly string[]
  readonly parent: string
  readonly parentColumns: readonly string[]
  readonly onDelete: 'delete' | 'update' | 'nothing'
  readonly onUpdate: 'update' | 'nothing'
}

export interface Trigger {
  readonly table: string
  readonly name: string
  readonly on: TableChange['kind']
}

/** A column that the engine fills in: if an INSERT leaves it out, at each UPDATE that leaves it out, or in place of NULL. */
export interface FilledColumn {
  readonly table: string
  readonly name: string
  readonly when: readonly ('insert' | 'update' | 'null')[]
}

export interface TableEffects {
  readonly foreignKeys: readonly ForeignKey[]
  readonly triggers: readonly Trigger[]
  readonly filled: readonly FilledColumn[]
  /** Tables whose writes are not undone with their transaction. */
  readonly lasting: readonly { readonly table: string; readonly engine: string }[]
}

type Reached = Pick<TableChange, 'kind' | 'table' | 'columns'>

/** All tables that a write changes, its own first. Throws GLOBAL_REFUSED if that cannot be known, or differs between shards. */
export function changedTables(change: TableChange, effects: TableEffects, map: ShardMap): readonly string[] {
  const reached: Reached[] = [change]
  for (const from of reached) {
    for (const key of effects.foreignKeys) {
      const next = consequenceOf(key, from, map)
      if (next === undefined || reached.some(known => isSame(known, next))) continue
      checkDivided(from, next, map)
      reached.push(next)
    }
  }
  for (const each of reached) checkKnown(each, effects)
  if (map.global.includes(change.table)) checkFilled(change, effects, map)
  return [...new Set(reached.map(({ table }) => table))]
}

/** In MariaDB, the names of columns are case-insensitive. */
export function isSameColumn(one: string | undefined, other: string, { dialect }: Pick<ShardMap, 'dialect'>): boolean {
  return one === other || (dialect === 'mariadb' && one?.toLowerCase() === other.toLowerCase())
}

function consequenceOf(key: ForeignKey, { kind, table, columns }: Reached, map: ShardMap): Reached | undefined {
  if (key.parent !== table || kind === 'insert') return undefined
  if (kind === 'delete')
    return key.onDelete === 'nothing' ? undefined : { kind: key.onDelete, table: key.table, columns: key.columns }
  const isConcerned = key.parentColumns.some(name => columns.some(each => isSameColumn(each, name, map)))
  return isConcerned && key.onUpdate === 'update'
    ? { kind: 'update', table: key.table, columns: key.columns }
    : undefined
}

function isSame(one: Reached, other: Reached): boolean {
  return JSON.stringify([one.kind, one.table, one.columns]) === JSON.stringify([other.kind, other.table, other.columns])
}

function checkDivided(from: Reached, { kind, table, columns }: Reached, map: ShardMap): void {
  if (shardKeyOf(map, from.table) !== undefined && map.global.includes(table))
    throw globalRefused(`by a foreign key it changes rows of ${table}, and different ones on each shard`)
  const key = shardKeyOf(map, table)
  if (kind === 'update' && columns.some(name => isSameColumn(key, name, map)))
    throw globalRefused(
      `by a foreign key it changes ${key}, the key of ${table}, so rows would have to move to other shards`,
    )
}

function checkKnown({ kind, table }: Reached, { triggers, lasting }: TableEffects): void {
  const kept = lasting.find(each => each.table === table)
  if (kept)
    throw globalRefused(
      `${table} has the engine ${kept.engine}, which has no transactions. Change the engine: ALTER TABLE ${table} ENGINE=InnoDB`,
    )
  const trigger = triggers.find(each => each.table === table && each.on === kind)
  if (trigger)
    throw globalRefused(
      `what the trigger ${trigger.name} of ${table} does on ${kind.toUpperCase()} is not known, and may differ by shard`,
    )
}

/** Rows that all shards have must be the same on each. */
function checkFilled({ kind, table, columns, certain }: TableChange, { filled }: TableEffects, map: ShardMap): void {
  for (const { name, when } of filled.filter(each => each.table === table)) {
    const has = (names: readonly string[]) => names.some(each => isSameColumn(each, name, map))
    const isLeftOut = kind !== 'delete' && when.includes(kind) && !has(columns)
    const isPerhapsNull = when.includes('null') && has(columns) && !has(certain)
    if (isLeftOut || isPerhapsNull)
      throw globalRefused(
        `each shard would fill in ${name} of ${table} with its own value. Give ${name} a value, written out or as a parameter`,
      )
  }
}
