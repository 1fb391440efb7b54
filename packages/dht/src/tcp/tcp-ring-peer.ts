/**
 * A peer over TCP: the code of the simulations, with sockets and timers at its edge. Its number is the port it
 * listens on, on this machine. Messages are lines of JSON; two peers share one connection, whichever of them opened it. A
 * connection that breaks or is refused shows that the questions asked on it will not be answered.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import type { Message } from '../peer/messages.js'
import type { Peer } from '../peer/ring.js'
import { createRingPeerMemory, RingPeer, type RingPeerOptions } from '../peer/ring-peer.js'

const HOST = '127.0.0.1'

interface Line {
  readonly from: Peer
  readonly message?: Message
}

export class TcpRingPeer {
  readonly peer: RingPeer
  readonly #server: Server
  readonly #sockets = new Map<Peer, Socket>()
  readonly #asked = new Map<Peer, Set<number>>()
  readonly #timers = new Set<NodeJS.Timeout>()
  #isStopped = false
  readonly #onStop = new Set<() => void>()

  private constructor(server: Server, options: RingPeerOptions) {
    this.#server = server
    const effects = {
      send: (to: Peer, message: Message) => this.#send(to, message),
      after: (delayMs: number, action: (nowMs: number) => void) => this.#after(delayMs, action),
    }
    const { port } = server.address() as AddressInfo
    this.peer = new RingPeer(port, options, effects, createRingPeerMemory(), performance.now())
    server.on('connection', socket => this.#listen(socket, undefined))
  }

  /** `port`: any free port, unless given. */
  static async start(options: RingPeerOptions, port: number = 0): Promise<TcpRingPeer> {
    const server = createServer()
    server.listen(port, HOST)
    await once(server, 'listening')
    return new TcpRingPeer(server, options)
  }

  /** Runs an operation of the peer; resolves to undefined if the peer is stopped first. */
  perform<Result>(operation: (peer: RingPeer, then: (result: Result) => void) => void): Promise<Result | undefined> {
    return new Promise(resolve => {
      const giveUp = () => resolve(undefined)
      this.#onStop.add(giveUp)
      operation(this.peer, result => {
        this.#onStop.delete(giveUp)
        resolve(result)
      })
    })
  }

  stop(): void {
    this.#isStopped = true
    for (const giveUp of this.#onStop) giveUp()
    this.#server.close()
    for (const timer of this.#timers) clearTimeout(timer)
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #after(delayMs: number, action: (nowMs: number) => void): void {
    if (this.#isStopped) return
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      action(performance.now())
    }, delayMs)
    this.#timers.add(timer)
  }

  #send(to: Peer, message: Message): void {
    if (this.#isStopped) return
    const socket = this.#sockets.get(to) ?? this.#open(to)
    if ('call' in message) {
      const asked = this.#asked.get(to) ?? new Set()
      this.#asked.set(to, asked.add(message.call))
    }
    socket.write(`${JSON.stringify({ from: this.peer.self, message } satisfies Line)}\n`)
  }

  #open(to: Peer): Socket {
    const socket = connect(to, HOST)
    this.#sockets.set(to, socket)
    this.#listen(socket, to)
    return socket
  }

  #listen(socket: Socket, opened: Peer | undefined): void {
    let other = opened
    socket.setNoDelay(true)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      if (other === undefined) return
      if (this.#sockets.get(other) === socket) this.#sockets.delete(other)
      const asked = this.#asked.get(other)
      this.#asked.delete(other)
      if (!this.#isStopped) for (const call of asked ?? []) this.peer.unanswered(call, performance.now())
    })
    const lines = createInterface({ input: socket })
    // The socket has reported the error too.
    lines.on('error', () => {})
    lines.on('line', text => {
      if (this.#isStopped) return
      const { from, message } = JSON.parse(text) as Line
      if (other === undefined) {
        other = from
        if (!this.#sockets.has(from)) this.#sockets.set(from, socket)
      }
      if (message === undefined) return
      if ('answers' in message) this.#asked.get(from)?.delete(message.answers)
      this.peer.receive(from, message, performance.now())
    })
  }
}
