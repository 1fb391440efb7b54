/** Declares `freshet copy`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readCopyLine } from './copy-line.js'

const HELP = `freshet copy: one store into another, while servers use the first.

  freshet copy --from .freshet --to postgres://user@host/database
  freshet copy --from postgres://... --to redis://... --follow     goes on with what changes, until Ctrl-C

  --from STORE, --to STORE   folders, or addresses of engines; the target must be empty. With a password, better
                             FRESHET_FROM, FRESHET_TO, or files: FRESHET_FROM_FILE=/run/secrets/from
  --follow, --json
Exit codes: 0 copied and compared, 1 failed, 2 an option is wrong, 130 stopped: run it again to go on.
`

export const copyCommand: Command = createCommand({
  name: 'copy',
  help: HELP,
  readLine: readCopyLine,
  run: async line => (await import('./run-copy.js')).runCopy(line),
})
