/** The order of rows and groups, as the engines have it: by numbers, dates, and text as far as its order is known here. */
import { compareUtf8, FreshetError } from '@freshet/protocol'
import {
  type Cell,
  type CellType,
  compareDates,
  compareFloats,
  compareNumbers,
  evaluate,
  type Final,
  type MergedGroup,
  NULL,
  type Value,
} from './final-expression.js'
import { sqlRefused } from './refusals.js'
import type { Dialect } from './shard-map.js'

export interface SortKey {
  readonly value: Final
  readonly isDescending: boolean
}

/** How text is ordered: as its bytes are, by weights that the shards send, or in a way that only the server knows. */
export type TextOrder = 'bytes' | 'weights' | 'unknown'

export interface Manner {
  readonly dialect: Dialect
  readonly textOrder: TextOrder
}

export class Row implements MergedGroup {
  readonly row: readonly Cell[]
  readonly #types: readonly CellType[]

  constructor(row: readonly Cell[], types: readonly CellType[]) {
    this.row = row
    this.#types = types
  }

  cell(slot: number, weightSlot: number | undefined): Value {
    const weight = weightSlot === undefined ? null : this.row[weightSlot]!
    return { type: this.#types[slot]!, cell: this.row[slot]!, ...(weight === null ? {} : { weight: String(weight) }) }
  }

  aggregate(): Value {
    return NULL
  }
}

/** The values that a row or group is sorted by. */
export function keysOf(group: MergedGroup, sortKeys: readonly SortKey[], { dialect }: Manner): readonly Value[] {
  return sortKeys.map(({ value }) => evaluate(value, group, dialect))
}

/** Throws SQL_REFUSED for values that cannot be ordered, which only the values themselves show. */
export function compareKeys(
  a: readonly Value[],
  b: readonly Value[],
  sortKeys: readonly SortKey[],
  manner: Manner,
): number {
  for (const [i, { isDescending }] of sortKeys.entries()) {
    const order = orderWithNulls(a[i]!, b[i]!, manner)
    if (order !== 0) return isDescending ? -order : order
  }
  return 0
}

/** Null is the smallest in MariaDB, and the largest in PostgreSQL. */
function orderWithNulls(a: Value, b: Value, { dialect, textOrder }: Manner): number {
  if (a.cell !== null && b.cell !== null) return orderOf(a, b, textOrder)
  if (a.cell === b.cell) return 0
  return (a.cell === null) === (dialect === 'mariadb') ? -1 : 1
}

export function orderOf(a: Value, b: Value, textOrder: TextOrder): number {
  if (a.weight !== undefined && b.weight !== undefined) return a.weight < b.weight ? -1 : a.weight > b.weight ? 1 : 0
  if (a.type === 'integer' || a.type === 'decimal') return compareNumbers(a, b)
  if (a.type === 'float' || a.type === 'boolean') return compareFloats(Number(a.cell), Number(b.cell))
  if (a.type === 'date') return compareDates(String(a.cell), String(b.cell))
  if (a.type === 'text' && textOrder === 'bytes') return compareUtf8(String(a.cell), String(b.cell))
  throw sqlRefused(
    'ORDER BY, MIN or MAX is applied to text whose order only its server knows, or to another type than number, date or boolean',
  )
}

/** Throws SHARD_DRIFT. */
export function commonTypes(ofShards: readonly (readonly CellType[])[]): readonly CellType[] {
  const types = ofShards[0]!
  if (ofShards.every(each => each.join() === types.join())) return types
  throw new FreshetError(
    'SHARD_DRIFT',
    'The shards answered with columns of different types: their tables differ. Run freshet shards check to see the differences.',
  )
}
