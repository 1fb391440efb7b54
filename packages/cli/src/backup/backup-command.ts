/** Declares `freshet backup`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readBackupLine } from './backup-line.js'

const HELP = `freshet backup FOLDER: all of a store, then only what has changed; while servers use it.

  freshet backup backups --data .freshet            the first time all of it, then what is new
  freshet backup backups --data .freshet --follow   every change as it happens, until Ctrl-C
  freshet backup backups --store postgres://user@host/database
  freshet backup backups --verify                   is it good, and which states does it have?

  --data FOLDER | --store URL   of what; without them, FRESHET_STORE or FRESHET_DATA
  --follow   so that restore --at finds the state of (almost) any moment
  --full     all of it, also where what is new would do
  --verify   reads the folder, every line and digest; --json
Exit codes: 0 done, 1 failed, or the folder is damaged, 2 an option is wrong, 130 stopped: what was marked is kept.
`

export const backupCommand: Command = createCommand({
  name: 'backup',
  help: HELP,
  readLine: readBackupLine,
  run: async line => (await import('./run-backup.js')).runBackup(line),
})
