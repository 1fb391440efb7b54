/** Declares `freshet copy`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readCopyLine } from './copy-line.js'

const HELP = `freshet copy: copies one store into another, while servers use the first

  freshet copy --from .freshet --to postgres://user@host/database
  freshet copy --from postgres://... --to redis://... --follow     then copies changes as they happen, until Ctrl-C

  --from STORE, --to STORE   folders, or addresses of engines; the target must be empty. To keep passwords off the command
                             line, set FRESHET_FROM and FRESHET_TO, or FRESHET_FROM_FILE=/run/secrets/from
  --follow                   after copying, keep copying changes until Ctrl-C
  --json                     print JSON
Exit codes: 0 copied and compared, 1 failed, 2 a wrong option, 130 stopped: run the same command to continue.
`

export const copyCommand: Command = createCommand({
  name: 'copy',
  help: HELP,
  readLine: readCopyLine,
  run: async line => (await import('./run-copy.js')).runCopy(line),
})
