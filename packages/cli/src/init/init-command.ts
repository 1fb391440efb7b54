/** Declares `freshet init`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readInitLine } from './init-line.js'

const HELP = `freshet init FOLDER: creates a small typed app, with Vite and the SDK, that runs at once

  freshet init my-app && cd my-app && npm install && npm run dev
  freshet init my-app --link ../freshet     with the packages of a clone instead of npm's registry

  --link FOLDER   a built clone of Freshet (default: the clone that this command runs from, if any)
  --registry      use the packages of npm's registry, even if this command runs from a clone
  --json          print JSON
Exit codes: 0 created, 1 failed and nothing was created, 2 a wrong option, or FOLDER is not empty.
`

export const initCommand: Command = createCommand({
  name: 'init',
  help: HELP,
  readLine: readInitLine,
  run: async line => (await import('./run-init.js')).runInit(line),
})
