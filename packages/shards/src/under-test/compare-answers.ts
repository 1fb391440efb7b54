/** For tests: sends a query to the shards and to the one server that has all rows; both must answer the same. */
import { FreshetError } from '@freshet/protocol'
import { PartCache } from '../coordinator/part-cache.js'
import { parseSelect, type SqlParser } from '../parse/parse-sql.js'
import {
  type Catalog,
  type Cell,
  mergeRows,
  planQuery,
  type Shard,
  type ShardAnswer,
  type ShardMap,
  type ShardPart,
} from '../plan/index.js'
import type { AskedQuery } from './random-queries.js'

export interface Tally {
  asked: number
  refused: number
  /** Answered with some of the rows of a wider range. */
  narrowed: number
  readonly reasons: Map<string, number>
}

export interface Compared {
  readonly parser: SqlParser
  readonly map: ShardMap
  readonly catalog: Catalog
  readonly shards: readonly Shard[]
  readonly whole: Shard
  readonly tally: Tally
}

const TIMEOUT_MS = 20_000
const ROWS_MAX = 10_000
const EVERYTHING = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY }

/** Throws if the answers differ. */
export async function compareAnswers(setup: Compared, asked: AskedQuery): Promise<void> {
  const { tally } = setup
  tally.asked++
  const [ours, theirs] = await Promise.all([askShards(setup, asked), askWhole(setup, asked)])
  if ('reason' in ours) {
    tally.refused++
    tally.reasons.set(ours.reason, (tally.reasons.get(ours.reason) ?? 0) + 1)
    return
  }
  const [a, b] = [canonical(ours.rows, asked), 'rows' in theirs ? canonical(theirs.rows, asked) : theirs.reason]
  if (a !== b) throw new Error(`${asked.text}\n${JSON.stringify(asked.values)}\nshards: ${a}\none server: ${b}`)
}

type Answer = { readonly rows: readonly (readonly Cell[])[] } | { readonly reason: string }

async function askShards(
  { parser, map, catalog, shards, tally }: Compared,
  { text, values }: AskedQuery,
): Promise<Answer> {
  try {
    const plan = planQuery(parseSelect(parser, text), { map, catalog, values, rowsMax: ROWS_MAX })
    const answers = await Promise.all(
      plan.shards.map((shard, i) => askShard(shards[shard]!, plan.parts[i]!, plan.tables, tally)),
    )
    return mergeRows(plan.merge, answers, ROWS_MAX)
  } catch (error) {
    if (error instanceof FreshetError && error.code.startsWith('SQL_')) return { reason: error.message }
    throw error
  }
}

/** Usually asks the same without the range, and picks the rows out of that answer, if the part allows it. */
async function askShard(shard: Shard, part: ShardPart, tables: readonly string[], tally: Tally): Promise<ShardAnswer> {
  if (part.keySlot === undefined || tally.asked % 4 === 0)
    return shard.read({ statement: part.statement, tables, timeoutMs: TIMEOUT_MS })
  const parts = new PartCache(1e9)
  const [text, values] = JSON.parse(part.family)
  const wide = await shard.read({ statement: { text, values }, tables, timeoutMs: TIMEOUT_MS })
  parts.keep(shard.name, { ...part, range: EVERYTHING }, wide)
  tally.narrowed++
  return parts.find(shard.name, part)!
}

async function askWhole({ whole }: Pick<Compared, 'whole'>, { text, values }: AskedQuery): Promise<Answer> {
  const isMariadb = whole.dialect === 'mariadb'
  const spelled = isMariadb ? text.replaceAll(/\$\d+/g, '?') : text.replaceAll(/\$\d+/g, '$&::bigint')
  try {
    return await whole.read({ statement: { text: spelled, values }, tables: [], timeoutMs: TIMEOUT_MS })
  } catch (error) {
    if (error instanceof FreshetError && error.code === 'SQL_INVALID') return { reason: error.message }
    throw error
  }
}

/** SQL does not define which of several equal texts represents them, nor the order of groups. */
export function canonical(rows: readonly (readonly Cell[])[], { isOrdered }: Pick<AskedQuery, 'isOrdered'>): string {
  const plain = (cell: Cell) =>
    typeof cell === 'string' ? cell.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().trimEnd() : cell
  const lines = rows.map(row => JSON.stringify(row.map(plain)))
  return (isOrdered ? lines : lines.sort()).join('\n')
}
