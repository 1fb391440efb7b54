/** Declares `freshet token`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readTokenLine } from './token-line.js'

const HELP = `freshet token: makes a token for a service or for trying things out, or reads one; docs/access.md

  FRESHET_TOKEN_SECRET=... freshet token --sub ada --claims '{"role":"admin"}' --expires 8h
  freshet token --sub ada --key private.pem
  freshet token --inspect eyJhbGciOi...

  --sub NAME, --claims JSON, --expires TIME (1h), --key FILE (private key), --inspect TOKEN, --config FILE, --json
  --url URL | --store URL | --data FOLDER   records in the audit there that the token was made: as the admin of
                                            FRESHET_TOKEN, or in the store itself. Without one of them, no record
Exit codes: 0 made, or believed; 1 not believed; 2 an option is wrong.
`

export const tokenCommand: Command = createCommand({
  name: 'token',
  help: HELP,
  readLine: readTokenLine,
  run: async (line, { serverConfig }) => (await import('./run-token.js')).runToken(line, serverConfig(line.configPath)),
})
