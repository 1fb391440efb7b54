/** Declares `freshet rules`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readRulesLine } from './rules-line.js'

const HELP = `freshet rules: the access rules in force, which all servers over a store share; docs/access.md

  freshet rules diff shop.access --url http://localhost:7700      what would change and become more open
  freshet rules apply shop.access --url http://localhost:7700     with FRESHET_TOKEN, the token of an admin
  freshet rules apply shop.access --widen --url ...               also if they allow more than those before
  freshet rules show, history, rollback [VERSION], remove --url ...
  freshet rules confirm --data .freshet                           the rules that came with a backup or a copied folder
  freshet rules apply shop.access --data .freshet                 without a token, while no server has the folder open
  freshet rules apply shop.access --store postgres://user@host/database

  --url URL | --data FOLDER | --store URL   where; without them, FRESHET_STORE or FRESHET_DATA
  --if-version N   only if this version is in force (the version that the command has just read)
  --widen          for apply, rollback and remove: the new rules may allow more than those before
  --json
rollback puts the rules before the last change into force, or those of VERSION. remove lets everybody do everything.
Exit codes: 0 done, 1 failed or refused, 2 an option is wrong. Of diff: 0 no difference, 1 some.
`

export const rulesCommand: Command = createCommand({
  name: 'rules',
  help: HELP,
  readLine: readRulesLine,
  run: async line => (await import('./run-rules.js')).runRules(line),
})
