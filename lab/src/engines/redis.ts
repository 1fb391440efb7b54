/**
 * A real Redis of its own (`@freshet/stores/under-test/redis`), and connections to it. Each command of a connection is written at
 * once; answers come in the order of the commands (RESP 2, https://redis.io/docs/reference/protocol-spec).
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { DURABLE, type RunningRedis, startRedis as start } from '@freshet/stores/under-test/redis'

export { isRedisInstalled, type RunningRedis } from '@freshet/stores/under-test/redis'

/** `isDurable`: what it acknowledges is on disk. Else it keeps everything in memory alone. */
export function startRedis({ isDurable }: { readonly isDurable: boolean }): Promise<RunningRedis> {
  return start(isDurable ? { settings: DURABLE } : {})
}

interface Waiting {
  resolve(reply: string): void
  reject(error: Error): void
}

/** For commands whose replies are one value: a line, a number, or text. */
export class RedisConnection {
  readonly #socket: Socket
  readonly #waiting: Waiting[] = []
  #rest = ''

  static async open(port: number): Promise<RedisConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await once(socket, 'connect')
    return new RedisConnection(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => this.#read(text))
    socket.on('error', error => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('Redis has closed the connection.')))
  }

  command(...parts: readonly string[]): Promise<string> {
    const text = parts.map(part => `$${Buffer.byteLength(part)}\r\n${part}\r\n`).join('')
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#socket.write(`*${parts.length}\r\n${text}`)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(text: string): void {
    this.#rest += text
    for (;;) {
      const end = this.#rest.indexOf('\r\n')
      if (end < 0) return
      const line = this.#rest.slice(1, end)
      const length = this.#rest[0] === '$' ? Number(line) : -1
      const next = length < 0 ? end + 2 : end + 2 + length + 2
      if (this.#rest.length < next) return
      const reply = length < 0 ? line : this.#rest.slice(end + 2, end + 2 + length)
      const isError = this.#rest[0] === '-'
      this.#rest = this.#rest.slice(next)
      const waiting = this.#waiting.shift()
      if (isError) waiting?.reject(new Error(`Redis refused: ${reply}`))
      else waiting?.resolve(reply)
    }
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
