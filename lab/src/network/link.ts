/**
 * A link to a distant server, for machines whose kernel cannot emulate one: a TCP proxy that delays, stalls, resets and loses,
 * as `conditions.ts` says, from one seed. It can be changed, cut and repaired while it runs.
 *
 * A new connection costs a round trip before its first byte leaves, as in reality, so that opening more connections than needed
 * shows as slowness. The link passes on the end of one direction and keeps the other open (half-closed). Held bytes are bounded
 * by a window, and no work is done per byte: the link should never limit a measurement.
 */
import { createServer, connect as open, type Server, type Socket } from 'node:net'
import { createRandom, type Random } from '../harness/random.js'
import { CONDITIONS_IDEAL, type Conditions, changeConditions, roundTripMs } from './conditions.js'
import { DelayLine } from './delay-line.js'
import { Pacer } from './pacer.js'

/** Up: to the server. */
export type Direction = 'up' | 'down'
export type End = 'client' | 'server'

export interface LinkOptions extends Partial<Conditions> {
  /** The address that the link leads to: http://127.0.0.1:7700. */
  readonly target: string
  readonly seed?: number
  /** The host that it listens on; default 127.0.0.1. */
  readonly host?: string
  /** 0 for any free port. */
  readonly port?: number
  /** How many bytes a connection may have in transit in each direction; it carries at most that per round trip. */
  readonly windowBytes?: number
}

export interface LinkCounts {
  /** Counted since the start. */
  readonly connections: number
  readonly open: number
  readonly upBytes: number
  readonly downBytes: number
}

interface Connection {
  readonly client: Socket
  readonly server: Socket
  readonly lines: DelayLine[]
  isLost: boolean
}

const WINDOW_BYTES = 4 * 1024 * 1024

export async function startLink(options: LinkOptions): Promise<Link> {
  const { target, seed = 1, host = '127.0.0.1', port = 0, windowBytes = WINDOW_BYTES, ...conditions } = options
  const link = new Link(target, changeConditions(CONDITIONS_IDEAL, conditions), createRandom(seed), windowBytes)
  await link.listen(port, host)
  return link
}

export class Link {
  readonly #target: { readonly host: string; readonly port: number }
  readonly #random: Random
  readonly #windowBytes: number
  readonly #server: Server
  readonly #connections = new Set<Connection>()
  readonly #pacers = { up: new Pacer(), down: new Pacer() }
  readonly #cut = new Set<Direction>()
  readonly #bytes = { up: 0, down: 0 }
  /** Resets that could not get through yet. */
  readonly #heldResets: (() => void)[] = []
  #conditions: Conditions
  #count = 0
  #host = ''
  #port = 0

  constructor(target: string, conditions: Conditions, random: Random, windowBytes: number) {
    const { hostname, port } = new URL(target)
    this.#target = { host: hostname, port: Number(port) }
    this.#conditions = conditions
    this.#random = random
    this.#windowBytes = windowBytes
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, socket => this.#accept(socket))
  }

  get url(): string {
    return `http://${this.#host}:${this.#port}`
  }

  get conditions(): Conditions {
    return this.#conditions
  }

  get counts(): LinkCounts {
    const { up: upBytes, down: downBytes } = this.#bytes
    return { connections: this.#count, open: this.#connections.size, upBytes, downBytes }
  }

  async listen(port: number, host: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => resolve())
    })
    this.#host = host
    this.#port = (this.#server.address() as { port: number }).port
  }

  /** Applies to what is sent from now on. Bytes in transit keep their time. */
  change(conditions: Partial<Conditions>): void {
    this.#conditions = changeConditions(this.#conditions, conditions)
  }

  /** Nothing gets through, in one direction or both, and neither end is notified. No bytes are lost: TCP resends them. */
  cut(...directions: readonly Direction[]): void {
    for (const direction of directions.length === 0 ? (['up', 'down'] as const) : directions) this.#cut.add(direction)
  }

  mend(): void {
    this.#cut.clear()
    for (const tell of this.#heldResets.splice(0)) tell()
    for (const { lines } of this.#connections) for (const line of lines) line.resume(performance.now())
  }

  /** Resets all open connections. */
  reset(): void {
    for (const connection of [...this.#connections]) this.#reset(connection)
  }

  /** One end of each connection dies, and the other is never notified: it continues to believe that it is connected. */
  abandon(end: End): void {
    for (const connection of [...this.#connections]) {
      this.#lose(connection)
      connection[end].resetAndDestroy()
    }
  }

  async stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    this.reset()
    await closed
  }

  #accept(client: Socket): void {
    this.#count++
    if (this.#random.float() < this.#conditions.refuseRate) {
      client.resetAndDestroy()
      return
    }
    client.pause()
    const server = open({ ...this.#target, allowHalfOpen: true, noDelay: true })
    server.pause()
    const connection: Connection = { client, server, lines: [], isLost: false }
    this.#connections.add(connection)
    const nowMs = performance.now()
    // The client has its connection after a round trip, and begins to send only then.
    connection.lines.push(this.#line(connection, 'up', nowMs + roundTripMs(this.#conditions)))
    connection.lines.push(this.#line(connection, 'down', nowMs + this.#conditions.delayMs))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => this.#passReset(connection, other, other === server ? 'up' : 'down'))
      socket.on('close', () => this.#forget(connection))
    }
    client.resume()
    server.resume()
  }

  #line(connection: Connection, direction: Direction, openMs: number): DelayLine {
    const { client, server } = connection
    const [from, to] = direction === 'up' ? [client, server] : [server, client]
    const options = {
      from,
      to,
      pacer: this.#pacers[direction],
      conditions: () => this.#conditions,
      random: () => this.#random.float(),
      isCut: () => this.#cut.has(direction),
      windowBytes: this.#windowBytes,
      onChunk: (bytes: number) => this.#strike(connection, direction, bytes),
    }
    return new DelayLine(options, openMs)
  }

  #strike(connection: Connection, direction: Direction, bytes: number): 'pass' | 'stop' {
    this.#bytes[direction] += bytes
    const { resetRate, blackHoleRate } = this.#conditions
    if (resetRate > 0 && this.#random.float() < resetRate) this.#reset(connection)
    else if (blackHoleRate > 0 && this.#random.float() < blackHoleRate) this.#lose(connection)
    else return 'pass'
    return 'stop'
  }

  #reset(connection: Connection): void {
    for (const line of connection.lines) line.stop()
    connection.client.resetAndDestroy()
    connection.server.resetAndDestroy()
  }

  /** From now on nothing gets through, in either direction, and neither end learns of the other's state. */
  #lose(connection: Connection): void {
    connection.isLost = true
    for (const line of connection.lines) line.stop()
  }

  /** A reset travels like everything else, unless nothing gets through. */
  #passReset(connection: Connection, other: Socket, direction: Direction): void {
    if (connection.isLost || other.destroyed) return
    for (const line of connection.lines) line.stop()
    const tell = () => {
      if (this.#cut.has(direction)) this.#heldResets.push(tell)
      else other.resetAndDestroy()
    }
    setTimeout(tell, Math.ceil(this.#conditions.delayMs))
  }

  #forget(connection: Connection): void {
    const { client, server } = connection
    if (client.destroyed && server.destroyed) this.#connections.delete(connection)
  }
}
