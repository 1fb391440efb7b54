/** MariaDB, for tests of tables that are buckets. */
import { createConnection } from 'mariadb'
import { openMariadbStore } from '../mariadb/open-mariadb-store.js'
import { exposedTables, exposeTable, unexposeTable } from '../mariadb/tables/expose-tables.js'
import { startMariadb } from './start-mariadb.js'
import type { SqlClient, TablesEngine } from './tables.js'

export const mariadbTables: TablesEngine = {
  start: () => startMariadb(),
  connect,
  openStore: (url, name) => openMariadbStore({ url, prefix: prefixOf(name) }),
  expose: ({ name, ...options }) => exposeTable({ prefix: prefixOf(name), ...options }),
  unexpose: ({ name, ...options }) => unexposeTable({ prefix: prefixOf(name), ...options }),
  exposed: ({ url, name }) => exposedTables({ url, prefix: prefixOf(name) }),
  schema: 'freshet',
  ownTable: name => `freshet.${prefixOf(name)}memory`,
  series: (from, to) => `(SELECT seq AS i FROM seq_${from}_to_${to}) numbers`,
  insertOrNothing: (table, values) => `INSERT IGNORE INTO ${table} VALUES ${values}`,
  upsert: (table, values, columns) => {
    const sets = columns.map(column => `${column} = VALUES(${column})`).join()
    return `INSERT INTO ${table} VALUES ${values} ON DUPLICATE KEY UPDATE ${sets}`
  },
  // InnoDB's report of its locks is a tenth of a second old.
  waiting: `SELECT id FROM information_schema.processlist WHERE info LIKE '%products%FOR UPDATE%' AND time_ms > 20 AND id <> CONNECTION_ID()`,
  empty: table => `DELETE FROM ${table}`,
  countTriggers: table =>
    `SELECT CAST(count(*) AS INT) AS n FROM information_schema.triggers WHERE CONCAT(event_object_schema, '.', event_object_table) = '${table}'`,
  grantInsert: table => `CREATE USER clerk@'127.0.0.1'; GRANT INSERT ON ${table} TO clerk@'127.0.0.1'`,
  refuseForbidden: table => `
    CREATE TRIGGER ${table}_checked BEFORE INSERT ON ${table} FOR EACH ROW
    IF NEW.name = 'forbidden' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not this one'; END IF`,
  noting: 'SELECT 1, UUID()',
  counted: 'integer AUTO_INCREMENT',
}

function prefixOf(name: string): string {
  return `${name}_`
}

/** Another program, with its default settings. */
async function connect(url: string): Promise<SqlClient> {
  const { hostname, port, username, pathname } = new URL(url)
  const connection = await createConnection({
    ...{ host: hostname, port: Number(port), user: username, database: pathname.slice(1) },
    ...{ multipleStatements: true, bigIntAsNumber: true, decimalAsNumber: true, insertIdAsNumber: true },
  })
  return {
    query: async text => {
      const found = await connection.query(text)
      const rows = Array.isArray(found) ? [...found] : []
      return { rows, count: Array.isArray(found) ? found.length : found.affectedRows }
    },
    end: () => connection.end(),
  }
}
