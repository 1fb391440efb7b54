/** A TCP line to a server, any one of whose connections can stand still for a while: nothing is lost, and neither end is told. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface StallingLine {
  readonly port: number
  /** How many connections are open. */
  readonly open: number
  /** Stops one of them; the function returned lets it go on. */
  stall(index: number): () => void
  stop(): Promise<void>
}

export async function openStallingLine(target: number): Promise<StallingLine> {
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer({ noDelay: true }, client => {
    const pair = [client, connect({ port: target, host: '127.0.0.1', noDelay: true })] as const
    pairs.add(pair)
    const end = () => {
      pairs.delete(pair)
      for (const socket of pair) socket.destroy()
    }
    for (const [i, socket] of pair.entries()) {
      socket.on('data', bytes => void pair[1 - i]!.write(bytes))
      socket.on('error', end).on('close', end)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    get open() {
      return pairs.size
    },
    stall: index => {
      const pair = [...pairs][index]!
      for (const socket of pair) socket.pause()
      return () => {
        for (const socket of pair) socket.resume()
      }
    },
    stop: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
