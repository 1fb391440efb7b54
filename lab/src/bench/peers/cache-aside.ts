/**
 * A cache that is invalidated by hand, as most programs have it: reads fill Redis, writes delete from it. The guide
 * `docs/guides/instead-of-redis.md` shows the same code. It has a race: a reader that selected the old row before a write, and
 * fills the cache after that write's DEL, leaves the old row in the cache until the key expires.
 */
import { createClient } from '@redis/client'
import pg from 'pg'

export interface CacheAside {
  /** The stored text; undefined if there is no such row. */
  read(id: string): Promise<string | undefined>
  write(id: string, body: string): Promise<void>
  close(): Promise<void>
}

export interface CacheAsideOptions {
  readonly redisUrl: string
  readonly postgresUrl: string
  readonly ttlSeconds: number
  /** Runs between the SELECT and the SET: there a test can hold a reader, as a slow network or a paused process does. */
  readonly beforeFill?: () => Promise<void>
}

const TABLE = 'CREATE TABLE products (id text PRIMARY KEY, body text NOT NULL)'
const SELECT = { name: 'select', text: 'SELECT body FROM products WHERE id = $1' }
const UPSERT = {
  name: 'upsert',
  text: 'INSERT INTO products VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = EXCLUDED.body',
}

export async function createCacheAsideTable(postgresUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl })
  await client.connect()
  await client.query(TABLE)
  await client.end()
}

export async function openCacheAside(options: CacheAsideOptions): Promise<CacheAside> {
  const { redisUrl, postgresUrl, ttlSeconds, beforeFill } = options
  const redis = createClient({ url: redisUrl })
  await redis.connect()
  const pool = new pg.Pool({ connectionString: postgresUrl })
  return {
    async read(id) {
      const cached = await redis.get(keyOf(id))
      if (cached !== null) return String(cached)
      const { rows } = await pool.query<{ body: string }>({ ...SELECT, values: [id] })
      const body = rows[0]?.body
      if (body === undefined) return undefined
      await beforeFill?.()
      await redis.set(keyOf(id), body, { EX: ttlSeconds })
      return body
    },
    async write(id, body) {
      await pool.query({ ...UPSERT, values: [id, body] })
      await redis.del(keyOf(id))
    },
    async close() {
      await pool.end()
      redis.destroy()
    },
  }
}

function keyOf(id: string): string {
  return `products:${id}`
}
