/** For tests: the same data in several shards, and again in one server that knows nothing of them. */
import { createRandom } from '@freshet/core/store/conformance'
import { type Shard, type ShardMap, shardsOf } from '../plan/index.js'
import { GLOBAL, KEYS_MAX, SHARDED, TABLES } from './random-queries.js'

export type Row = readonly (string | number | null)[]

export interface SampleRows {
  readonly people: readonly Row[]
  readonly visits: readonly Row[]
  readonly teams: readonly Row[]
}

const NAMES = [
  'Ann',
  'ann',
  'Bob',
  'bob ',
  'Zoë',
  'zoe',
  'Émile',
  "x'y",
  '',
  '北京大学出版社',
  '北京大学出版部',
  'an\tn',
  null,
]
const TEAM_NAMES = ['red', 'blue', 'teal', null]
const PLACES = ['home', 'Home', 'shop', 'a_b', null]

/** The same rows for the same seed. */
export function sampleRows(seed: number, isPlainText: boolean): SampleRows {
  const { next } = createRandom(seed)
  const pick = <T>(items: readonly T[]) => items[Math.floor(next() * items.length)]!
  const names = isPlainText ? NAMES.filter(name => name !== 'bob ') : NAMES
  const maybe = (value: number | string) => (next() < 0.15 ? null : value)
  const ids = Array.from({ length: KEYS_MAX }, (_, i) => i + 1).filter(() => next() < 0.8)
  return {
    people: ids.map(id => [
      ...[
        id,
        pick(names),
        pick(TEAM_NAMES),
        maybe(Math.floor(next() * 7) + 18),
        maybe((next() * 400 - 100).toFixed(2)),
      ],
      maybe(`20${10 + Math.floor(next() * 4)}-0${1 + Math.floor(next() * 3)}-01`),
    ]),
    visits: ids.flatMap(id =>
      Array.from({ length: Math.floor(next() * 5) }, (_, i): Row => {
        return [id, i + 1, pick(PLACES), maybe((next() * 90).toFixed(1)), maybe(Math.floor(next() * 1e12))]
      }),
    ),
    teams: ['red', 'blue', 'gold'].map((team, i) => [team, `The ${team}s`, i * 400]),
  }
}

/** Fills the shards without the arbitrator: there are no global writes yet. */
export async function fill(
  run: (shard: number | 'whole', text: string) => Promise<unknown>,
  map: ShardMap,
  rows: SampleRows,
): Promise<void> {
  for (const shard of [...map.shards.keys(), 'whole' as const]) {
    for (const table of TABLES) await run(shard, table)
    for (const table of Object.keys(rows) as (keyof SampleRows)[]) {
      const isHere = (row: Row) => {
        if (shard === 'whole' || GLOBAL.includes(table)) return true
        return shardsOf(map, [{ low: Number(row[0]), high: Number(row[0]) }])[0] === shard
      }
      const here = rows[table].filter(isHere)
      if (here.length > 0)
        await run(shard, `INSERT INTO ${table} VALUES ${here.map(row => `(${row.map(spell).join(', ')})`).join(', ')}`)
    }
  }
}

export function mapOf(dialect: Shard['dialect'], placement: ShardMap['placement']): ShardMap {
  return { dialect, shards: ['a', 'b', 'c'], placement, sharded: SHARDED, global: GLOBAL }
}

function spell(cell: string | number | null): string {
  if (cell === null) return 'NULL'
  return typeof cell === 'number' || /^-?\d+\.\d+$/.test(cell) ? `${cell}` : `'${cell.replaceAll("'", "''")}'`
}
