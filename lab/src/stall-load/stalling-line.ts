/** A TCP proxy to a server; any one of its connections can stall for a while. Nothing is lost, and neither end is notified. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface StallingLine {
  readonly port: number
  /** How many connections are open. */
  readonly open: number
  /** Stalls one of them; the returned function resumes it. */
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
