/**
 * The same work in plain PostgreSQL, as applications do it: BEGIN, a SELECT for each object, an UPDATE for each change, COMMIT,
 * one statement after another, at level SERIALIZABLE, with a retry from the start if PostgreSQL demands it.
 *
 * PostgreSQL records reads by rows where it can, else by pages or tables, and then finds false conflicts. A small table is the
 * worst case for that. So here it always uses the index, has room for the new versions of a row on the same page, and may record
 * any number of rows of a page.
 */
import pg from 'pg'
import { type Chosen, CLIENTS, type Contender, idsOf } from './contended-work.js'

export const POSTGRES_SETTINGS = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  max_pred_locks_per_page: '1000',
  max_pred_locks_per_relation: '10000',
}

/** Serialization failure, deadlock: the client must retry the transaction. */
const RETRIED = ['40001', '40P01']

export interface PostgresAddress {
  readonly user: string
  readonly database: string
  /** Where the clients connect, over the long connection. */
  readonly farPort: number
  /** Where the table is filled and checked, without the distance. */
  readonly port: number
}

export async function createPostgresContender(address: PostgresAddress, objects: number): Promise<Contender> {
  const near = await open(address, address.port)
  await near.query('DROP TABLE IF EXISTS items')
  await near.query('CREATE TABLE items (id text PRIMARY KEY, count integer NOT NULL) WITH (fillfactor = 50)')
  await near.query('INSERT INTO items SELECT unnest($1::text[]), 0', [idsOf(objects)])
  await near.query('ANALYZE items')
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => open(address, address.farPort)))
  return {
    name: 'PostgreSQL',
    transact: async (client, chosen, isWorthIt) => {
      while (isWorthIt()) if (await attempt(clients[client]!, chosen)) return true
      return false
    },
    total: async () => Number((await near.query('SELECT sum(count) AS total FROM items')).rows[0].total),
    stop: async () => {
      await Promise.all([near, ...clients].map(each => each.end()))
    },
  }
}

async function open({ user, database }: PostgresAddress, port: number): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port, user, database })
  await client.connect()
  return client
}

/** False if the transaction must be retried. */
async function attempt(client: pg.Client, { ids, written }: Chosen): Promise<boolean> {
  await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE')
  try {
    const counts = new Map<string, number>()
    for (const id of ids) {
      const { rows } = await client.query('SELECT count FROM items WHERE id = $1', [id])
      counts.set(id, rows[0].count)
    }
    for (const id of written) {
      await client.query('UPDATE items SET count = $2 WHERE id = $1', [id, counts.get(id)! + 1])
    }
    await client.query('COMMIT')
    return true
  } catch (error) {
    await client.query('ROLLBACK')
    if (RETRIED.includes((error as { code?: string }).code ?? '')) return false
    throw error
  }
}
