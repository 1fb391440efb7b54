/** A TCP connection to a server of this machine that can be cut, and whose answers can be held back. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export interface CuttableLine {
  readonly port: number
  /** From now on answers do not come through; what is asked does. */
  holdAnswers(): void
  /** Ends every connection, and with them what was held back. New ones go through. */
  cut(): void
  close(): Promise<void>
}

export async function cuttableLine(targetPort: number): Promise<CuttableLine> {
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer(near => {
    const far = connect({ port: targetPort, host: '127.0.0.1' })
    const pair = [near, far] as const
    pairs.add(pair)
    near.pipe(far)
    far.pipe(near)
    for (const socket of pair) {
      // What happens to one end happens to the other: the test is about what the store makes of it.
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        near.destroy()
        far.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const [near, far] of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    port: (server.address() as { port: number }).port,
    holdAnswers() {
      for (const [near, far] of pairs) far.unpipe(near)
    },
    cut,
    async close() {
      cut()
      server.close()
      await once(server, 'close')
    },
  }
}
