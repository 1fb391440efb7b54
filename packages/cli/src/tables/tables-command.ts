/** Declares `freshet tables`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readTablesLine } from './tables-line.js'

const HELP = `freshet tables add|remove|list: makes tables of the database that the store is in buckets, of PostgreSQL or MariaDB.

  freshet tables add --store postgres://user@host/database --table public.products --bucket shop/products
  freshet tables add --store mariadb://user@host/database --table database.products --bucket shop/products
  freshet tables list --store postgres://user@host/database
  freshet tables remove --store postgres://user@host/database --bucket shop/products

  --store URL (FRESHET_STORE, or a file: FRESHET_STORE_FILE), --bucket NAME, --table NAME, --columns A,B (all), --json;
  docs/existing-tables.md
Exit codes: 0 done, 1 failed, 2 an option is wrong.
`

export const tablesCommand: Command = createCommand({
  name: 'tables',
  help: HELP,
  readLine: readTablesLine,
  run: async line => (await import('./run-tables.js')).runTables(line),
})
