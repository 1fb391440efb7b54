/** One node, read with the bare driver of the engine: single objects, and the versions of all objects. */
import { createClient, RESP_TYPES } from '@redis/client'
import pg from 'pg'
import { BUCKET, KEYS, keyOf, type Versioned } from './currency-target.js'

export interface PlainNode {
  get(key: string): Promise<Versioned | undefined>
  versions(): Promise<readonly number[]>
  close(): Promise<void>
}

const OBJECT = 'SELECT version::float8 AS version, content_type, body FROM freshet.objects WHERE key = $1'
const VERSIONS = `SELECT key, version::float8 AS version FROM freshet.objects WHERE key LIKE '${BUCKET}/%'`
const REDIS_PREFIX = '{freshet:main}:v:'

export async function openPostgresNode(url: string): Promise<PlainNode> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  return {
    async get(key) {
      const { rows } = await client.query({ name: 'object', text: OBJECT, values: [key] })
      return rows[0]
    },
    async versions() {
      const { rows } = await client.query(VERSIONS)
      const found = new Map(rows.map(({ key, version }) => [key, version]))
      return Array.from({ length: KEYS }, (_, i) => found.get(keyOf(i)) ?? 0)
    },
    close: () => client.end(),
  }
}

export async function openRedisNode(url: string): Promise<PlainNode> {
  const client = createClient({
    url,
    RESP: 2,
    commandOptions: { timeout: 0, typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } },
  })
  client.on('error', () => {})
  await client.connect()
  const ask = (...args: string[]) => client.sendCommand(args) as Promise<unknown>
  return {
    get: async key => toVersioned((await ask('GET', REDIS_PREFIX + key)) as Buffer | null),
    async versions() {
      const records = (await ask(
        'MGET',
        ...Array.from({ length: KEYS }, (_, i) => REDIS_PREFIX + keyOf(i)),
      )) as (Buffer | null)[]
      return records.map(record => toVersioned(record)?.version ?? 0)
    },
    close: async () => client.destroy(),
  }
}

/** The layout of the store: one byte, then the version. */
function toVersioned(record: Buffer | null): Versioned | undefined {
  return record === null ? undefined : { version: record.readUIntLE(1, 6) }
}
