/** Declares `freshet gen`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readGenLine } from './gen-line.js'

const HELP = `freshet gen: prints a TypeScript type of all buckets, for the client

  freshet gen --url http://localhost:7700 --out src/schema.ts
  freshet gen --url http://localhost:7700 --out src/schema.ts --check     in CI: fails if the file is out of date

  --url URL    the server
  --out FILE   the file to write (default: standard output)
  --check      write nothing, and check whether the file is up to date
  --json       print JSON
Exit codes: 0 written, or up to date; 1 out of date, or no answer; 2 a wrong option.
`

export const genCommand: Command = createCommand({
  name: 'gen',
  help: HELP,
  readLine: readGenLine,
  run: async line => (await import('./run-gen.js')).runGen(line),
})
