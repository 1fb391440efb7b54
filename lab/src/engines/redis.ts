/**
 * A real Redis of its own in a temporary folder, on a free port of this machine, and connections to it. Each command of a
 * connection is written at once; answers come in the order of the commands (RESP 2, https://redis.io/docs/reference/protocol-spec).
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@freshet/stores/under-test/free-port'

export interface RunningRedis {
  readonly port: number
  stop(): Promise<void>
}

const PROGRAMS = ['/usr/bin/redis-server', '/usr/local/bin/redis-server']
const START_MS_MAX = 20_000
const POLL_MS = 50

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function isRedisInstalled(): boolean {
  return PROGRAMS.some(program => existsSync(program))
}

/** `isDurable`: what it acknowledges is on disk. Else it keeps everything in memory alone. */
export async function startRedis({ isDurable }: { readonly isDurable: boolean }): Promise<RunningRedis> {
  const program = PROGRAMS.find(each => existsSync(each))
  if (program === undefined) throw new Error('Redis is not installed: sudo apt-get install redis-server')
  const folder = mkdtempSync(join(tmpdir(), 'freshet-redis-'))
  const port = await freePort()
  const appending = isDurable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no']
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...appending]
  const child = spawn(program, args, { stdio: 'ignore' })
  running.add(child)
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    running.delete(child)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await untilReady(child, port)
    return { port, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function untilReady(child: ChildProcess, port: number): Promise<void> {
  const deadlineMs = performance.now() + START_MS_MAX
  for (;;) {
    try {
      const connection = await RedisConnection.open(port)
      connection.close()
      return
    } catch (cause) {
      if (child.exitCode !== null || performance.now() > deadlineMs) throw new Error('Redis did not start.', { cause })
      await delay(POLL_MS)
    }
  }
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
