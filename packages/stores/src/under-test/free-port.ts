/** A port of this machine's own addresses that nobody listens at, and that stays free while a process is restarted. */
import { createServer } from 'node:net'

const PORT_MIN = 20_000
const PORT_MAX = 32_000

/**
 * Not one of those that the system gives to outgoing connections: one of these could take the port while what listens there
 * is being restarted, and a reader that keeps trying could even be connected to itself.
 */
export async function freePort(hosts: readonly string[] = ['127.0.0.1']): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN))
    const isFree = await Promise.all(hosts.map(host => isFreeAt(host, port)))
    if (!isFree.includes(false)) return port
  }
}

async function isFreeAt(host: string, port: number): Promise<boolean> {
  const server = createServer()
  const isFree = await new Promise<boolean>(resolve => {
    server.once('error', () => resolve(false))
    server.listen(port, host, () => resolve(true))
  })
  if (isFree) await new Promise(resolve => server.close(resolve))
  return isFree
}
