/**
 * The same work in PostgreSQL with the driver. `driver`: the store's upserts and selects in the usual way, one connection per
 * upsert in flight, and reads pipelined on one connection. `ordered` and `unordered`: batches as the store writes them, two round
 * trips each, with positions from a locked row, or from a sequence.
 */
import pg from 'pg'
import { BODY, type EnginesSettings, type Target, TYPE } from './engine-target.js'

const TABLES = `
  CREATE TABLE plain (key text COLLATE "C" PRIMARY KEY, version bigint, type text, body bytea);
  CREATE TABLE changes (position bigint PRIMARY KEY, keys text[]);
  CREATE TABLE head (position bigint) WITH (fillfactor = 10);
  INSERT INTO head VALUES (0);
  CREATE SEQUENCE positions START 1000000000`
const UPSERT = 'ON CONFLICT (key) DO UPDATE SET version = EXCLUDED.version, body = EXCLUDED.body'

export async function preparePostgres(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(TABLES)
  await client.end()
}

export async function openPostgresTarget({ kind, url, inFlight }: EnginesSettings): Promise<Target> {
  const client = await connect(url)
  if (kind !== 'driver') return { commit: keys => commitBatch(client, keys, kind === 'ordered'), batch: inFlight }
  const free = await Promise.all(Array.from({ length: inFlight }, () => connect(url)))
  const text = `INSERT INTO plain VALUES ($1, $2, $3, $4) ${UPSERT}`
  return {
    async commit(keys) {
      const own = free.pop()!
      await own.query({ name: 'put', text, values: [keys[0], 1, TYPE, BODY] })
      free.push(own)
    },
    get: key =>
      client.query({ name: 'get', text: 'SELECT version, type, body FROM plain WHERE key = $1', values: [key] }),
    batch: 1,
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, pipeline: true } as pg.ClientConfig)
  await client.connect()
  return client
}

async function commitBatch(client: pg.Client, keys: readonly string[], isOrdered: boolean): Promise<void> {
  const take = isOrdered ? 'SELECT position FROM head FOR UPDATE' : `SELECT nextval('positions') AS position`
  const [, taken] = await Promise.all([client.query('BEGIN'), client.query({ name: take.slice(0, 20), text: take })])
  const position = Number(taken.rows[0].position) + 1
  const put = `INSERT INTO plain SELECT key, $2, $3, $4 FROM unnest($1::text[]) AS key ${UPSERT}`
  await Promise.all([
    client.query({ name: 'put', text: put, values: [keys, position, TYPE, BODY] }),
    client.query({ name: 'log', text: 'INSERT INTO changes VALUES ($1, $2)', values: [position, keys] }),
    ...(isOrdered ? [client.query({ name: 'move', text: 'UPDATE head SET position = $1', values: [position] })] : []),
    client.query('COMMIT'),
  ])
}
