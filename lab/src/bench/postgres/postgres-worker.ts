/**
 * What happens in each server's process. `freshet`: the store. `driver`: the same upserts and selects with the driver, as it is
 * usually done, a connection for each that is in flight, and reads pipelined on one. `ordered` and `unordered`: batches as the store
 * makes them, two round trips each, with positions from a row that is locked, or from a sequence.
 */
import { openPostgresStore } from '@freshet/stores/postgres'
import pg from 'pg'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { elapsedMs, stopwatch } from '../../harness/stopwatch.js'

export type PostgresKind = 'freshet' | 'driver' | 'ordered' | 'unordered'
export type PostgresMeasure = 'commit' | 'get'

export interface PostgresSettings {
  readonly kind: PostgresKind
  readonly url: string
  /** Which of the servers it is. */
  readonly server: number
  readonly inFlight: number
  readonly commits: number
  readonly gets: number
}

interface Target {
  commit(keys: readonly string[]): Promise<unknown>
  get?(key: string): Promise<unknown>
  /** So many keys go into one call of `commit`. */
  readonly batch: number
}

const KEYS = 5000
const BODY = Buffer.from(JSON.stringify({ text: 'x'.repeat(489) }))
const TYPE = 'application/json'

export const TABLES = `
  CREATE TABLE plain (key text COLLATE "C" PRIMARY KEY, version bigint, type text, body bytea);
  CREATE TABLE changes (position bigint PRIMARY KEY, keys text[]);
  CREATE TABLE head (position bigint) WITH (fillfactor = 10);
  INSERT INTO head VALUES (0);
  CREATE SEQUENCE positions`
const UPSERT = 'ON CONFLICT (key) DO UPDATE SET version = EXCLUDED.version, body = EXCLUDED.body'

export function createPostgresWorker(): ContenderWorker<PostgresSettings, undefined, PostgresMeasure> {
  let target: Target | undefined
  let settings: PostgresSettings | undefined
  return {
    async prepare(given) {
      settings = given
      target = await openTarget(given)
      return undefined
    },
    async round() {
      if (!target || !settings) throw new TypeError('The worker was not prepared.')
      const { server, inFlight, commits, gets } = settings
      const { batch, get } = target
      const keyOf = (i: number) => `a/b/${server}-${i % KEYS}`
      const lanes = Math.ceil(inFlight / batch)
      const commit = await time(commits / batch, lanes, i =>
        target!.commit(Array.from({ length: batch }, (_, k) => keyOf(i * batch + k))),
      )
      const read = get ? await time(gets, inFlight, i => get(keyOf(i))) : 0
      return { commit: commit / batch, get: read }
    },
  }
}

/** Nanoseconds for each, with so many at a time. */
async function time(count: number, lanes: number, work: (i: number) => Promise<unknown>): Promise<number> {
  let next = 0
  const lane = async () => {
    while (next < count) await work(next++)
  }
  const start = stopwatch.now()
  await Promise.all(Array.from({ length: lanes }, lane))
  return (elapsedMs(start, stopwatch.now()) * 1e6) / count
}

async function openTarget({ kind, url, inFlight }: PostgresSettings): Promise<Target> {
  if (kind === 'freshet') {
    const store = await openPostgresStore({ url })
    const put = (key: string) => ({ key, contentType: TYPE, body: BODY })
    return { commit: keys => store.commit({ writes: keys.map(put) }), get: async key => store.get(key), batch: 1 }
  }
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
