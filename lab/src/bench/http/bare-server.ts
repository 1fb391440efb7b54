/**
 * The yardstick: Node's own HTTP server, answering with a constant and the given headers. Nothing on Node's HTTP can be faster.
 * The settings come as JSON in the only argument.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface BareSettings {
  /** Names and values, alternating. */
  readonly headers: readonly string[]
  readonly body: string
}

const { headers, body } = JSON.parse(process.argv[2]!) as BareSettings
const flat = [...headers]

const server = createServer((_request, response) => {
  response.writeHead(200, flat)
  response.end(body, 'latin1')
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
process.once('SIGTERM', () => process.exit())
