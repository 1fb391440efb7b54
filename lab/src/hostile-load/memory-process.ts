/** A server in its own process, so that its memory can be measured. Prints its port, and ends when its input ends. */

import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer } from '@freshet/server'
import { SECRET, TWIN_RULES } from './twin-servers.js'

const server = createFreshetServer({
  store: createMemoryStore({ positionsAfter: 0 }),
  access: { rules: TWIN_RULES, tokens: { secret: SECRET, audience: 'freshet', leewayMs: 0 } },
})
const { port } = await server.listen({ port: 0 })
process.stdout.write(`${port}\n`)
process.stdin.on('end', () => process.exit()).resume()
