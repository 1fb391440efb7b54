/** Declares `freshet gen`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readGenLine } from './gen-line.js'

const HELP = `freshet gen: TypeScript types from the schemas of all buckets.

  freshet gen --url http://localhost:7700 --out src/schema.ts
  freshet gen --url http://localhost:7700 --out src/schema.ts --check     in CI: is it up to date?

  --out FILE (standard output), --check, --json
Exit codes: 0 written, or up to date; 1 out of date, or no answer; 2 an option is wrong.
`

export const genCommand: Command = createCommand({
  name: 'gen',
  help: HELP,
  readLine: readGenLine,
  run: async line => (await import('./run-gen.js')).runGen(line),
})
