/** PostgreSQL, for tests of tables that are buckets. */
import pg from 'pg'
import { openPostgresStore } from '../postgres/open-postgres-store.js'
import { exposedTables, exposeTable, unexposeTable } from '../postgres/tables/expose-tables.js'
import { startPostgres } from './start-postgres.js'
import type { SqlClient, TablesEngine } from './tables.js'

export const postgresTables: TablesEngine = {
  start: () => startPostgres(),
  connect,
  openStore: (url, schema) => openPostgresStore({ url, schema }),
  expose: ({ name: schema, ...options }) => exposeTable({ schema, ...options }),
  unexpose: ({ name: schema, ...options }) => unexposeTable({ schema, ...options }),
  exposed: ({ url, name: schema }) => exposedTables({ url, schema }),
  schema: 'public',
  ownTable: name => `${name}.memory`,
  series: (from, to) => `generate_series(${from}, ${to}) i`,
  insertOrNothing: (table, values) => `INSERT INTO ${table} VALUES ${values} ON CONFLICT DO NOTHING`,
  upsert: (table, values, columns) => {
    const sets = columns.map(column => `${column} = EXCLUDED.${column}`).join()
    return `INSERT INTO ${table} VALUES ${values} ON CONFLICT (id) DO UPDATE SET ${sets}`
  },
  waiting: 'SELECT pid FROM pg_locks WHERE NOT granted',
  empty: table => `TRUNCATE ${table}`,
  countTriggers: table => `SELECT count(*)::int AS n FROM pg_trigger WHERE tgrelid = '${table}'::regclass`,
  grantInsert: table =>
    `CREATE ROLE clerk LOGIN; GRANT USAGE ON SCHEMA public TO clerk; GRANT INSERT ON ${table} TO clerk`,
  refuseForbidden: table => `
    CREATE FUNCTION ${table}_check() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN IF NEW.name = 'forbidden' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER checked BEFORE INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_check()`,
  noting: 'INSERT INTO incoming (exposed',
  counted: 'integer GENERATED ALWAYS AS IDENTITY',
}

async function connect(url: string): Promise<SqlClient> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    query: async text => {
      const { rows, rowCount } = await client.query(text)
      return { rows, count: rowCount ?? 0 }
    },
    end: () => client.end(),
  }
}
