/**
 * Detects that the tables of a store were restored from a snapshot. Cassandra keeps the newest version of everything, so a
 * snapshot can only be loaded into tables that were emptied or created again, and both leave a trace:
 *
 *     TRUNCATE           each node notes the time for each table, in `truncated_at` of its own system.local
 *     DROP and CREATE    the rows of the table's columns in system_schema.columns are written again. ALTER writes only those of
 *                        the columns that it adds, and the table's own row
 *
 * If files were copied back while a node was stopped, they leave no trace here. A server detects that by the log position that it
 * remembers (`recalled`).
 */
import type { Identity } from '../log/identity.js'
import type { Session } from './session.js'

/** By the id of a node, for the nodes that answer: when the table was emptied. */
type Emptied = Readonly<Record<string, string>>

interface Noted {
  readonly made: string
  readonly emptied: Emptied
}

export async function readIdentity(session: Session): Promise<Identity> {
  const inSchema = "WHERE keyspace_name = ? AND table_name = 'log'"
  const [table] = await session.ask(`SELECT id FROM system_schema.tables ${inSchema}`, [session.keyspace])
  const [column] = await session.ask(
    `SELECT WRITETIME(type) AS made FROM system_schema.columns ${inSchema} AND column_name = 'store'`,
    [session.keyspace],
  )
  const found = await session.askEach('SELECT host_id, truncated_at FROM system.local')
  const emptied = Object.fromEntries(
    found.map(({ host_id, truncated_at }) => [String(host_id), timesOf(truncated_at).get(String(table?.id)) ?? '']),
  )
  const made = String(column?.made)
  const parse = (noted: string) => JSON.parse(noted) as Noted
  return {
    isSame: noted => isSame(parse(noted), { made, emptied }),
    toNote: noted => JSON.stringify({ made, emptied: { ...(noted && parse(noted).emptied), ...emptied } }),
  }
}

/** When each table was emptied, by its id. */
function timesOf(truncatedAt: unknown): ReadonlyMap<string, string> {
  const map = (truncatedAt ?? new Map()) as ReadonlyMap<unknown, Buffer>
  return new Map(Array.from(map, ([id, time]) => [String(id), time.toString('hex')]))
}

/** A node that is new, or was away, is not compared. */
function isSame(noted: Noted, now: Noted): boolean {
  return (
    noted.made === now.made &&
    Object.entries(now.emptied).every(([node, time]) => (noted.emptied[node] ?? time) === time)
  )
}
