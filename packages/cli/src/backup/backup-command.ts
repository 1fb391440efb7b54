/** Declares `freshet backup`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readBackupLine } from './backup-line.js'

const HELP = `freshet backup FOLDER: backs up a store: everything the first time, then the changes. Servers may use it meanwhile.

  freshet backup backups --data .freshet            everything the first time, then what has changed
  freshet backup backups --data .freshet --follow   every change as it happens, until Ctrl-C
  freshet backup backups --store postgres://user@host/database
  freshet backup backups --verify                   checks a backup, and prints which states it has

  --data FOLDER | --store URL   the store (default: FRESHET_STORE or FRESHET_DATA)
  --follow   keep running, so that restore --at finds the state at (almost) any moment
  --full     back up everything, even if the changes would suffice
  --verify   read the whole folder and check every line and digest
  --json     print JSON
Exit codes: 0 success, 1 failed or the folder is damaged, 2 a wrong option, 130 stopped: what was marked before is kept.
`

export const backupCommand: Command = createCommand({
  name: 'backup',
  help: HELP,
  readLine: readBackupLine,
  run: async line => (await import('./run-backup.js')).runBackup(line),
})
