/** Declares `freshet restore`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readRestoreLine } from './restore-line.js'

const HELP = `freshet restore FOLDER: a state of a backup into an empty store, checked and compared.

  freshet restore backups --data restored                               the latest
  freshet restore backups --data restored --at 2026-11-16T15:00:00Z     the last one marked before that
  freshet restore backups --store postgres://user@host/database --at 2761787088803
  freshet restore backups --data .freshet --damaged                     only what is damaged; the rest stays as it is

  --data FOLDER | --store URL   to where; it must be empty. Without them, FRESHET_STORE or FRESHET_DATA
  --at TIME|POSITION            (the latest state)
  --key KEY | --damaged         only this key (shop/products/42), or all damaged ones, into a store with data; stop
                                the server of a folder first
  --json
An empty store gets a log of its own: sessions notice, and start over. docs/backups.md says what is not in a backup.
Exit codes: 0 restored and compared, 1 failed: a folder is as it was, 2 an option is wrong, 130 stopped.
`

export const restoreCommand: Command = createCommand({
  name: 'restore',
  help: HELP,
  readLine: readRestoreLine,
  run: async line => (await import('./run-restore.js')).runRestore(line),
})
