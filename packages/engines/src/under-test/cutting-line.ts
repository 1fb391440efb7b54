/**
 * A connection to a server that can be cut, either at once, or just before or just after a certain request has reached the
 * server; that can fall silent, or be slow. For tests of requests whose reply is lost, and of lag.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { DelayedBytes } from './delayed-bytes.js'

export interface CutAt {
  /** Bytes that the request contains. */
  readonly request: string
  /** 'before': the server never receives it. 'after': the server has carried it out, and its reply is lost. */
  readonly when: 'before' | 'after'
  /** The whole line is then down, until `mend`. */
  readonly forAll?: boolean
}

export interface LineEnds {
  /** Where it listens; any port of 127.0.0.1 by default. */
  readonly listen?: { readonly host: string; readonly port: number }
  /** The host that it leads to; 127.0.0.1 by default. */
  readonly targetHost?: string
}

export class CuttingLine {
  readonly #server: Server
  readonly #targetHost: string
  /** The port that new connections lead to. */
  target: number
  readonly #isAnswered: (bytes: Buffer) => boolean
  readonly #pairs = new Set<readonly [Socket, Socket]>()
  #cutAt: CutAt | undefined
  #isDown = false
  /** How often it was cut at a request. */
  cuts = 0
  /** How much later the server's replies arrive. */
  answerDelayMs = 0

  /** `isAnswered`: whether these bytes end the server's reply to a request, with no transaction open. */
  static async open(
    target: number,
    isAnswered: (bytes: Buffer) => boolean = isReady,
    { listen = { host: '127.0.0.1', port: 0 }, targetHost = '127.0.0.1' }: LineEnds = {},
  ): Promise<CuttingLine> {
    const line = new CuttingLine(target, isAnswered, targetHost)
    line.#server.listen(listen)
    await once(line.#server, 'listening')
    return line
  }

  private constructor(target: number, isAnswered: (bytes: Buffer) => boolean, targetHost: string) {
    this.target = target
    this.#targetHost = targetHost
    this.#isAnswered = isAnswered
    this.#server = createServer({ noDelay: true }, socket => this.#accept(socket))
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Once, at the next request that contains these bytes. */
  cutNext(cutAt: CutAt): void {
    this.#cutAt = cutAt
  }

  /** Cuts every connection, and refuses new ones, until `mend`. */
  cut(): void {
    this.#isDown = true
    for (const pair of this.#pairs) this.#end(pair)
  }

  /** From now on nothing passes on the open connections, and neither end notices. New connections work. */
  silence(): void {
    for (const [client, server] of this.#pairs) {
      client.unpipe().pause()
      server.unpipe().pause()
      client.removeAllListeners('data')
    }
  }

  /** Requests on the open connections pass, replies do not. New connections work. */
  holdAnswers(): void {
    for (const [, server] of this.#pairs) server.unpipe()
  }

  mend(): void {
    this.#isDown = false
  }

  async close(): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair)
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(client: Socket): void {
    if (this.#isDown) {
      client.on('error', () => {})
      client.destroy()
      return
    }
    const server = connect({ port: this.target, host: this.#targetHost, noDelay: true })
    const pair = [client, server] as const
    this.#pairs.add(pair)
    for (const socket of pair) {
      socket.on('error', () => this.#end(pair))
      socket.on('close', () => this.#end(pair))
    }
    const answers = new DelayedBytes(() => this.answerDelayMs)
    server.pipe(answers).pipe(client)
    client.on('close', () => answers.destroy())
    client.on('data', data => this.#pass(data, pair))
  }

  #pass(data: Buffer, pair: readonly [Socket, Socket]): void {
    const [, server] = pair
    const at = this.#cutAt
    if (at === undefined || !data.includes(at.request)) {
      server.write(data)
      return
    }
    this.#cutAt = undefined
    if (at.when === 'before') {
      this.#cut(pair, at)
      return
    }
    server.unpipe()
    server.write(data)
    this.#untilDone(pair, at)
  }

  #untilDone(pair: readonly [Socket, Socket], at: CutAt): void {
    const [, server] = pair
    server.on('data', (data: Buffer) => {
      if (this.#isAnswered(data)) this.#cut(pair, at)
    })
    server.resume()
  }

  #cut(pair: readonly [Socket, Socket], { forAll = false }: CutAt): void {
    this.cuts++
    this.#end(pair)
    if (forAll) this.cut()
  }

  #end(pair: readonly [Socket, Socket]): void {
    if (!this.#pairs.delete(pair)) return
    for (const socket of pair) socket.destroy()
  }
}

/** PostgreSQL's ReadyForQuery, not in a transaction: https://www.postgresql.org/docs/15/protocol-message-formats.html */
function isReady(bytes: Buffer): boolean {
  return bytes.subarray(-READY.length).equals(READY)
}

const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
