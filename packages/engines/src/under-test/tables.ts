/** A database whose tables are buckets, another program that uses it, and two servers, for tests. */
import type { Store, Write } from '@freshet/core/store'
import type { ExposeTableOptions, Exposure } from '../sql/tables/expose-tables.js'

export const BUCKET = 'shop/products'

/** Another program. */
export interface SqlClient {
  query<Row = Record<string, unknown>>(text: string): Promise<{ readonly rows: Row[]; readonly count: number }>
  end(): Promise<void>
}

/** The place of a store, and of a table in the same database. */
export interface TableUnderTest {
  readonly url: string
  /** The name of the store: each test has its own. */
  readonly name: string
  readonly table: string
}

export type Exposing = Omit<TableUnderTest, 'table'> & ExposeTableOptions

/** A kind of database, with its own SQL where that differs. */
export interface TablesEngine {
  start(): Promise<{ readonly url: string; stop(): Promise<void> }>
  connect(url: string): Promise<SqlClient>
  openStore(url: string, name: string): Promise<Store>
  expose(options: Exposing): Promise<Exposure>
  unexpose(options: { readonly url: string; readonly name: string; readonly bucket: string }): Promise<void>
  exposed(options: { readonly url: string; readonly name: string }): Promise<readonly Exposure[]>
  /** The schema, or database, in which tables are created. */
  readonly schema: string
  /** The name of a table of the store itself. */
  ownTable(name: string): string
  /** Numbers, as a column i. */
  series(from: number, to: number): string
  insertOrNothing(table: string, values: string): string
  /** For a key `id` and other columns. */
  upsert(table: string, values: string, columns: readonly string[]): string
  /** Lists those that wait for the lock of a row, one row each. */
  readonly waiting: string
  /** Deletes all rows; without touching each row, if the store can note that. */
  empty(table: string): string
  /** How many triggers a table has. */
  countTriggers(table: string): string
  /** Creates a user `clerk` that may only insert into the table. */
  grantInsert(table: string): string
  /** Makes the table refuse the name "forbidden". */
  refuseForbidden(table: string): string
  /** The beginning of the statement that notes all rows. */
  readonly noting: string
  /** The type of a key that counts up by itself. */
  readonly counted: string
}

export class TablesUnderTest {
  readonly engine: TablesEngine
  readonly sql: SqlClient
  readonly #server: { readonly url: string; stop(): Promise<void> }
  readonly #toClose: (() => Promise<unknown>)[] = []
  #tables = 0

  private constructor(engine: TablesEngine, server: { readonly url: string; stop(): Promise<void> }, sql: SqlClient) {
    this.engine = engine
    this.#server = server
    this.sql = sql
  }

  static async start(engine: TablesEngine): Promise<TablesUnderTest> {
    const server = await engine.start()
    return new TablesUnderTest(engine, server, await engine.connect(server.url))
  }

  /** Creates a table, and a name for a store of its own. */
  async aTable(columns: string): Promise<TableUnderTest> {
    const table = `${this.engine.schema}.products_${++this.#tables}`
    await this.sql.query(`CREATE TABLE ${table} (${columns})`)
    return { url: this.#server.url, name: `tables_${this.#tables}`, table }
  }

  async openBoth({ url, name }: Pick<TableUnderTest, 'url' | 'name'>): Promise<[Store, Store]> {
    const stores: [Store, Store] = [await this.engine.openStore(url, name), await this.engine.openStore(url, name)]
    this.#toClose.push(...stores.map(store => () => store.close()))
    return stores
  }

  /** Connects one more program. */
  async connect(url: string = this.#server.url): Promise<SqlClient> {
    const client = await this.engine.connect(url)
    this.#toClose.push(() => client.end())
    return client
  }

  /** Closes everything that a test has opened. */
  async close(): Promise<void> {
    for (const close of this.#toClose.splice(0)) await close()
  }

  async end(): Promise<void> {
    await this.sql.end()
    await this.#server.stop()
  }
}

/** The environment of the tests while they run. */
export interface Using {
  readonly own: TablesUnderTest
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
