/** Declares `freshet token`. */
import { type Command, createCommand } from '../terminal/command.js'
import { readTokenLine } from './token-line.js'

const HELP = `freshet token: makes a token, for a service or for trying things out, or inspects one; docs/guides/access.md

  FRESHET_TOKEN_SECRET=... freshet token --sub ada --claims '{"role":"admin"}' --expires 8h
  freshet token --sub ada --key private.pem
  freshet token --inspect eyJhbGciOi...

  --sub NAME       the subject of the token
  --claims JSON    other claims, such as '{"role":"editor"}'
  --expires TIME   how long the token is valid (default 1h)
  --key FILE       sign with this private key instead of FRESHET_TOKEN_SECRET
  --inspect TOKEN  print the contents of a token, and whether a server with this configuration accepts it
  --url URL | --store URL | --data FOLDER   record in the audit log there that the token was made: through the server, as
                   the admin whose token is in FRESHET_TOKEN, or directly in the store (default: no record)
  --config FILE    the server's config file (default ./freshet.json)
  --json           print JSON
Exit codes: 0 the token was made, or is accepted; 1 it is not accepted; 2 a wrong option.
`

export const tokenCommand: Command = createCommand({
  name: 'token',
  help: HELP,
  readLine: readTokenLine,
  run: async (line, { serverConfig }) => (await import('./run-token.js')).runToken(line, serverConfig(line.configPath)),
})
