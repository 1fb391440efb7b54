/** A port of this machine's own address that nobody listens at, and that stays free while a process is restarted. */
import { createServer } from 'node:net'

const PORT_MIN = 20_000
const PORT_MAX = 32_000

/**
 * Not one of those that the system gives to outgoing connections: one of these could take the port while what listens there
 * is being restarted, and a reader that keeps trying could even be connected to itself.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN))
    const server = createServer()
    const isFree = await new Promise<boolean>(resolve => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (!isFree) continue
    await new Promise(resolve => server.close(resolve))
    return port
  }
}
