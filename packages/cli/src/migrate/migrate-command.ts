/** Declares `freshet migrate`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readMigrateLine } from './migrate-line.js'

const HELP = `freshet migrate: takes every migration of a folder that a server has not had yet; docs/schemas.md

  freshet migrate --url http://localhost:7700
  freshet migrate --url http://localhost:7700 --folder db/migrations

  --folder FOLDER (migrations), --json
Exit codes: 0 all are done, 1 one failed: run it again to go on, 2 an option or a migration is wrong.
`

export const migrateCommand: Command = createCommand({
  name: 'migrate',
  help: HELP,
  readLine: readMigrateLine,
  run: async line => (await import('./run-migrate.js')).runMigrate(line),
})
