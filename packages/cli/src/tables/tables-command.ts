/** Declares `freshet tables`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readTablesLine } from './tables-line.js'

const HELP = `freshet tables add|remove|list: attaches tables of the store's database, PostgreSQL or MariaDB, as buckets

  freshet tables add --store postgres://user@host/database --table public.products --bucket shop/products
  freshet tables add --store mariadb://user@host/database --table database.products --bucket shop/products
  freshet tables list --store postgres://user@host/database
  freshet tables remove --store postgres://user@host/database --bucket shop/products

  --store URL      the database (default: FRESHET_STORE, or the file that FRESHET_STORE_FILE names)
  --bucket NAME    the bucket
  --table NAME     for add: the table
  --columns A,B    for add: which columns (default: all)
  --json           print JSON
See docs/guides/existing-tables.md.
Exit codes: 0 success, 1 failed, 2 a wrong option.
`

export const tablesCommand: Command = createCommand({
  name: 'tables',
  help: HELP,
  readLine: readTablesLine,
  run: async line => (await import('./run-tables.js')).runTables(line),
})
