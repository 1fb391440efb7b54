/** A database whose tables are buckets, another program that uses it, and two servers, for tests. */
import type { Store, Write } from '@freshet/core/store'
import pg from 'pg'
import { openPostgresStore } from '../postgres/open-postgres-store.js'
import { type RunningPostgres, startPostgres } from './start-postgres.js'

export const BUCKET = 'shop/products'

export class TablesUnderTest {
  readonly sql: pg.Client
  readonly #postgres: RunningPostgres
  readonly #toClose: (() => Promise<unknown>)[] = []
  #tables = 0

  private constructor(postgres: RunningPostgres, sql: pg.Client) {
    this.#postgres = postgres
    this.sql = sql
  }

  static async start(): Promise<TablesUnderTest> {
    const postgres = await startPostgres()
    return new TablesUnderTest(postgres, await connectTo(postgres))
  }

  /** A new one, and a schema for a store of its own. */
  async aTable(columns: string): Promise<{ url: string; schema: string; table: string }> {
    const table = `public.products_${++this.#tables}`
    await this.sql.query(`CREATE TABLE ${table} (${columns})`)
    return { url: this.#postgres.url, schema: `tables_${this.#tables}`, table }
  }

  async openBoth(url: string, schema: string): Promise<[Store, Store]> {
    const stores: [Store, Store] = [await openPostgresStore({ url, schema }), await openPostgresStore({ url, schema })]
    this.#toClose.push(...stores.map(store => () => store.close()))
    return stores
  }

  /** One more program. */
  async connect(): Promise<pg.Client> {
    const client = await connectTo(this.#postgres)
    this.#toClose.push(() => client.end())
    return client
  }

  /** What a test has opened. */
  async close(): Promise<void> {
    for (const close of this.#toClose.splice(0)) await close()
  }

  async end(): Promise<void> {
    await this.sql.end()
    await this.#postgres.stop()
  }
}

async function connectTo({ url }: RunningPostgres): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

export function aPut(key: string, object: unknown): Write {
  return { key, contentType: 'application/json', body: Buffer.from(JSON.stringify(object)) }
}

export async function put(store: Store, id: string | number, object: unknown): Promise<number> {
  const result = await store.commit({ writes: [aPut(`${BUCKET}/${id}`, object)] })
  if (!result.committed) throw new Error('Refused.')
  return result.position
}

export async function textOf(store: Store, id: string | number, bucket: string = BUCKET): Promise<string | undefined> {
  const value = await store.get(`${bucket}/${id}`)
  return value && Buffer.from(value.body).toString()
}

export async function objectOf(store: Store, id: string | number, bucket: string = BUCKET): Promise<unknown> {
  const text = await textOf(store, id, bucket)
  return text === undefined ? undefined : JSON.parse(text)
}
