/** Declares `freshet restore`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readRestoreLine } from './restore-line.js'

const HELP = `freshet restore FOLDER: puts a state of a backup into an empty store, and compares the result

  freshet restore backups --data restored                               the latest state
  freshet restore backups --data restored --at 2026-11-16T15:00:00Z     the last state marked before that time
  freshet restore backups --store postgres://user@host/database --at 2761787088803
  freshet restore backups --data .freshet --damaged                     only damaged records; the rest is left alone

  --data FOLDER | --store URL   the target, which must be empty (default: FRESHET_STORE or FRESHET_DATA)
  --at TIME|POSITION            which state (default: the latest)
  --key KEY | --damaged         restore only this key (shop/products/42), or all damaged ones, into a store that has data;
                                stop the server of a folder first
  --json                        print JSON
A store that was empty gets its own log, so sessions start over. docs/guides/backups.md says what is not in a backup.
Exit codes: 0 restored and compared, 1 failed: a folder is unchanged, 2 a wrong option, 130 stopped.
`

export const restoreCommand: Command = createCommand({
  name: 'restore',
  help: HELP,
  readLine: readRestoreLine,
  run: async line => (await import('./run-restore.js')).runRestore(line),
})
