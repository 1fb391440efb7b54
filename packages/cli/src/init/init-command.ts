/** Declares `freshet init`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readInitLine } from './init-line.js'

const HELP = `freshet init FOLDER: a small typed app, Vite and the SDK, that runs at once.

  freshet init my-app && cd my-app && npm install && npm run dev
  freshet init my-app --link ../freshet     with the packages of a clone, not those of the registry

  --link FOLDER   a clone of Freshet, built (the one that this command is of, if it is of one)
  --registry      the packages of npm's registry, also where this command is of a clone
  --json
Exit codes: 0 made, 1 failed: nothing is there, 2 an option is wrong, or there is something in FOLDER.
`

export const initCommand: Command = createCommand({
  name: 'init',
  help: HELP,
  readLine: readInitLine,
  run: async line => (await import('./run-init.js')).runInit(line),
})
