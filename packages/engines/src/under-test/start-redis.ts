/**
 * A real Redis in a temporary folder, on a free port of this machine. It is removed, with everything it wrote, when it is
 * stopped, and also when the process that started it ends without stopping it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from './free-port.js'

export interface RedisOptions {
  /** By their names in redis.conf. By default it keeps everything in memory alone. */
  readonly settings?: Readonly<Record<string, string>>
  /** As a node of a cluster, which the caller must form. */
  readonly isNode?: boolean
}

export interface RunningRedis {
  readonly port: number
  readonly url: string
  /** Everything that it has on disk. */
  readonly folder: string
  readonly pid: number
  /** SIGKILL: it has no time to write anything. */
  kill(): Promise<void>
  /** After `kill`: deletes everything that it has on disk. */
  empty(): Promise<void>
  /** After `kill`: starts it on the same port, with the contents of its folder. */
  restart(): Promise<void>
  stop(): Promise<void>
}

/** These settings put what it acknowledges on disk. */
export const DURABLE: Readonly<Record<string, string>> = { appendonly: 'yes', appendfsync: 'always' }

/** By default, a replica that needs a full copy would be kept waiting for 5 s, in case another needs one too. */
const BASE = { appendonly: 'no', save: '', 'repl-diskless-sync-delay': '0' }

const PROGRAMS = ['/usr/bin/redis-server', '/usr/local/bin/redis-server']
const START_MS_MAX = 20_000
const POLL_MS = 20
const ATTEMPTS_MAX = 5

const running = new Set<Instance>()
process.once('exit', () => {
  for (const instance of running) instance.end()
})

export function isRedisInstalled(): boolean {
  return PROGRAMS.some(program => existsSync(program))
}

export function startRedis({ settings = {}, isNode = false }: RedisOptions = {}): Promise<RunningRedis> {
  return start(async () => {
    // The default port between nodes would be 10,000 higher, which may be beyond the last port.
    const more = isNode ? { 'cluster-enabled': 'yes', 'cluster-port': `${await freePort()}` } : {}
    return new Instance(await freePort(), { ...BASE, ...settings, ...more })
  })
}

/** A single sentinel: as soon as the primary does not answer, it makes one of the replicas the primary. */
export function startSentinel(name: string, primary: RunningRedis): Promise<RunningRedis> {
  const lines = [
    `sentinel monitor ${name} 127.0.0.1 ${primary.port} 1`,
    // Longer than a busy machine delays an answer.
    `sentinel down-after-milliseconds ${name} 3000`,
    `sentinel failover-timeout ${name} 5000`,
  ]
  return start(async () => new Instance(await freePort(), {}, lines))
}

async function start(make: () => Promise<Instance>): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt++) {
    const instance = await make()
    try {
      await instance.restart()
      return instance
    } catch (error) {
      await instance.stop()
      // Another process may have taken the port in the meantime.
      if (attempt === ATTEMPTS_MAX) throw error
    }
  }
}

class Instance implements RunningRedis {
  readonly port: number
  readonly folder: string = mkdtempSync(join(tmpdir(), 'freshet-redis-'))
  readonly #settings: Readonly<Record<string, string>>
  /** Undefined: it is not a sentinel. */
  readonly #sentinel: readonly string[] | undefined
  #child: ChildProcess | undefined

  constructor(port: number, settings: Readonly<Record<string, string>>, sentinel?: readonly string[]) {
    this.port = port
    this.#settings = settings
    this.#sentinel = sentinel
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  get pid(): number {
    return this.#child!.pid!
  }

  async restart(): Promise<void> {
    const program = PROGRAMS.find(each => existsSync(each))
    if (program === undefined) throw new Error('Redis is not installed: sudo apt-get install redis-server')
    const child = spawn(program, this.#sentinel ? this.#sentinelArgs(this.#sentinel) : this.#args(), {
      stdio: 'ignore',
    })
    this.#child = child
    running.add(this)
    const deadlineMs = performance.now() + START_MS_MAX
    while (!(await answers(this.port))) {
      if (hasEnded(child) || performance.now() > deadlineMs)
        throw new Error(`Redis did not start on port ${this.port}.`)
      await delay(POLL_MS)
    }
  }

  #args(): string[] {
    const settings = Object.entries(this.#settings).flatMap(([name, value]) => [`--${name}`, value])
    return ['--port', `${this.port}`, '--bind', '127.0.0.1', '--dir', this.folder, ...settings]
  }

  /** A sentinel writes what it finds out to its configuration file. */
  #sentinelArgs(lines: readonly string[]): string[] {
    const file = join(this.folder, 'sentinel.conf')
    const own = [`port ${this.port}`, 'bind 127.0.0.1', `dir ${this.folder}`]
    if (!existsSync(file)) writeFileSync(file, [...own, ...lines, ''].join('\n'))
    return [file, '--sentinel']
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }

  async empty(): Promise<void> {
    for (const name of readdirSync(this.folder)) rmSync(join(this.folder, name), { recursive: true })
  }

  async stop(): Promise<void> {
    await this.kill()
    this.end()
  }

  /** Synchronous, because the process may be about to exit. */
  end(): void {
    this.#child?.kill('SIGKILL')
    running.delete(this)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined
}

/** True for any reply, unless it says that it is still loading its files. */
async function answers(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    socket.write('PING\r\n')
    const [reply] = (await once(socket, 'data')) as [Buffer]
    return !reply.toString().startsWith('-LOADING')
  } catch {
    // Not yet: the caller retries until its deadline.
    return false
  } finally {
    socket.destroy()
  }
}
