/** Declares `freshet rules`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readRulesLine } from './rules-line.js'

const HELP = `freshet rules: shows and changes the access rules in force, which all servers over a store share; docs/guides/access.md

  freshet rules diff shop.access --url http://localhost:7700      shows what would change, and what would become more open
  freshet rules apply shop.access --url http://localhost:7700     puts the rules in force; FRESHET_TOKEN is an admin's token
  freshet rules apply shop.access --widen --url ...               the same, even if they allow more than the current rules
  freshet rules show, history, rollback [VERSION], remove --url ...
  freshet rules confirm --data .freshet                           accepts rules that came with a backup or a copied folder
  freshet rules apply shop.access --data .freshet                 needs no token, and no server that has the folder open
  freshet rules apply shop.access --store postgres://user@host/database

  --url URL | --data FOLDER | --store URL   the server or store (default: FRESHET_STORE or FRESHET_DATA)
  --if-version N   change the rules only if version N is in force (default: the version that the command has just read)
  --widen          for apply, rollback and remove: the new rules may allow more than the current ones
  --json           print JSON
rollback restores the rules from before the last change, or those of VERSION. After remove, everyone may do everything.
Exit codes: 0 success, 1 failed or refused, 2 a wrong option. For diff: 0 no differences, 1 differences.
`

export const rulesCommand: Command = createCommand({
  name: 'rules',
  help: HELP,
  readLine: readRulesLine,
  run: async line => (await import('./run-rules.js')).runRules(line),
})
