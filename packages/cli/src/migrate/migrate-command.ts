/** Declares `freshet migrate`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readMigrateLine } from './migrate-line.js'

const HELP = `freshet migrate: runs every migration of a folder that a server has not run yet; docs/guides/schemas.md

  freshet migrate --url http://localhost:7700
  freshet migrate --url http://localhost:7700 --folder db/migrations

  --url URL         the server
  --folder FOLDER   the folder of the migrations (default migrations)
  --json            print JSON
Exit codes: 0 all are done, 1 one failed: run the same command to continue, 2 an option or a migration is wrong.
`

export const migrateCommand: Command = createCommand({
  name: 'migrate',
  help: HELP,
  readLine: readMigrateLine,
  run: async line => (await import('./run-migrate.js')).runMigrate(line),
})
