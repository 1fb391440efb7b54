/**
 * The server of http-cache-tests, listening on the loopback address only: the package's own listens everywhere, and serves files.
 * The port is the only argument. The process ends with its parent.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import handleConfig from 'http-cache-tests/server/handle-config.mjs'
import handleState from 'http-cache-tests/server/handle-state.mjs'
import handleTest from 'http-cache-tests/server/handle-test.mjs'

type Handle = (path: readonly string[], request: IncomingMessage, response: ServerResponse) => void

const HANDLES: Readonly<Record<string, Handle>> = { config: handleConfig, state: handleState, test: handleTest }

const server = createServer((request, response) => {
  const [name = '', ...path] = new URL(request.url!, 'http://localhost').pathname.slice(1).split('/')
  const handle = HANDLES[name]
  if (handle) handle(path, request, response)
  else response.writeHead(404).end()
})
server.listen(Number(process.argv[2]), '127.0.0.1', () => process.send?.('listening'))
process.once('disconnect', () => process.exit())
