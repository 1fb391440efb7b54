/** Declares `freshet drop`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readDropLine } from './drop-line.js'

const HELP = `freshet drop NAME: deletes a bucket with its objects, settings and schemas, or all buckets of a namespace.

  freshet drop shop/products --url http://localhost:7700 --yes
  freshet drop shop --url http://localhost:7700 --yes              every bucket of shop

  --url URL   the server; it finishes the deletion even if the command is stopped, or after its own restart
  --yes       confirm: without it nothing is deleted
  --json      print JSON
The command ends when everything is gone. The server refuses to delete attached tables (see freshet tables remove),
and buckets that schemas of other buckets refer to.
If the server has access rules, set FRESHET_TOKEN to the token of an admin.
Exit codes: 0 it is gone, or never existed; 1 refused or failed; 2 a wrong option, or --yes is missing.
`

export const dropCommand: Command = createCommand({
  name: 'drop',
  help: HELP,
  readLine: readDropLine,
  run: async line => (await import('./run-drop.js')).runDrop(line),
})
