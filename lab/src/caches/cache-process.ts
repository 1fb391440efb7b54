/**
 * A real cache in its own process: started from a configuration in its own folder, ready when it answers, and removed with
 * everything it started, even when its parent ends without notice.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@freshet/engines/under-test/free-port'

export type CacheKind = 'varnish' | 'squid' | 'nginx'
/** HAProxy caches nothing: it stands in front of several servers. */
type ProxyKind = CacheKind | 'haproxy'

export interface RunningCache<Kind extends ProxyKind = CacheKind> {
  readonly kind: Kind
  readonly url: string
  /** The secret that a purge needs. */
  readonly secret: string
  /** `kill -9`, and a new start at the same address, with an empty cache. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface CacheCommand<Kind extends ProxyKind = ProxyKind> {
  readonly kind: Kind
  readonly secret: string
  /** Writes the configuration into the folder, and returns the command to run. */
  prepare(folder: string, port: number): { readonly program: string; readonly args: readonly string[] }
  /** Default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals
  /** Removes what the cache leaves outside of its folder. */
  cleanUp?(folder: string): void
}

interface Instance {
  readonly child: ChildProcess
  readonly folder: string
  readonly command: CacheCommand
  output: string
}

/** A process takes long to start when dozens of others compete for the processor. */
const START_MS_MAX = 60_000
const STOP_MS_MAX = 5_000
const ASK_MS_MAX = 2_000
const POLL_MS = 20
const ATTEMPTS_MAX = 5
const TAKEN_MS = 100

const running = new Set<Instance>()
process.once('exit', () => {
  for (const instance of running) end(instance)
})

export async function startCache<Kind extends ProxyKind>(command: CacheCommand<Kind>): Promise<RunningCache<Kind>> {
  let port = 0
  const instance = await unlessPortIsTaken(async () => {
    port = await freePort()
    return start(command, port)
  })
  return toRunningCache(command, port, instance)
}

/** Tries again if another process has the port, even if only for the moment in which it checks whether the port is free. */
async function unlessPortIsTaken(attempt: () => Promise<Instance>): Promise<Instance> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      const isTaken = /address.*in use|cannot bind|could not (?:bind|get)/i.test(String(error))
      if (attempts === ATTEMPTS_MAX || !isTaken) throw error
      await delay(TAKEN_MS)
    }
  }
}

/** For `afterAll`: ends whatever a failed test has left behind. */
export async function endCaches(): Promise<void> {
  await Promise.all([...running].map(stop))
}

function toRunningCache<Kind extends ProxyKind>(
  command: CacheCommand<Kind>,
  port: number,
  first: Instance,
): RunningCache<Kind> {
  let instance = first
  return {
    kind: command.kind,
    url: addressOf(port),
    secret: command.secret,
    restart: async () => {
      await kill(instance)
      instance = await unlessPortIsTaken(() => start(command, port))
    },
    stop: () => stop(instance),
  }
}

async function start(command: CacheCommand, port: number): Promise<Instance> {
  const folder = mkdtempSync(join(tmpdir(), `freshet-${command.kind}-`))
  // Squid and nginx, started by root, drop to another user.
  chmodSync(folder, 0o755)
  const { program, args } = command.prepare(folder, port)
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const instance: Instance = { child, folder, command, output: '' }
  running.add(instance)
  child.once('error', error => {
    instance.output += `${error.message}. Install it: sudo apt-get install ${command.kind}`
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      instance.output = (instance.output + text).slice(-4000)
    })
  }
  try {
    await untilReady(instance, port)
    return instance
  } catch (error) {
    await kill(instance)
    throw error
  }
}

async function untilReady(instance: Instance, port: number): Promise<void> {
  const { command, child } = instance
  const deadlineMs = performance.now() + START_MS_MAX
  while (!(await answers(port))) {
    const what = hasEnded(child) ? 'ended while starting' : `did not answer within ${START_MS_MAX} ms`
    if (hasEnded(child) || performance.now() > deadlineMs)
      throw new Error(`${command.kind} ${what}: ${instance.output}`)
    await delay(POLL_MS)
  }
  // Another process could be answering there.
  await delay(POLL_MS)
  if (hasEnded(child)) throw new Error(`${command.kind} ended while starting: ${instance.output}`)
}

async function answers(port: number): Promise<boolean> {
  try {
    const response = await fetch(`${addressOf(port)}/live`, { signal: AbortSignal.timeout(ASK_MS_MAX) })
    await response.arrayBuffer()
    return true
  } catch {
    // Not yet: `untilReady` asks again, and decides when to give up.
    return false
  }
}

async function stop(instance: Instance): Promise<void> {
  const { child } = instance
  if (!hasEnded(child)) {
    const ended = once(child, 'exit')
    child.kill(instance.command.stopSignal ?? 'SIGTERM')
    await Promise.race([ended, delay(STOP_MS_MAX, undefined, { ref: false })])
  }
  await kill(instance)
}

async function kill(instance: Instance): Promise<void> {
  const { child } = instance
  const ended = hasEnded(child) ? undefined : once(child, 'exit')
  const killed = end(instance)
  await ended
  const deadlineMs = performance.now() + STOP_MS_MAX
  while (killed.some(isAlive) && performance.now() < deadlineMs) await delay(POLL_MS)
}

/** Kills at once, because there may be no later. Returns the killed processes: the cache, and those that it started. */
function end(instance: Instance): readonly number[] {
  const { child, folder, command } = instance
  // The parent first: nginx would replace a child that has died.
  const killed = child.pid === undefined || hasEnded(child) ? [] : [child.pid, ...descendantsOf(child.pid)]
  for (const pid of killed) signal(pid, 'SIGKILL')
  running.delete(instance)
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  command.cleanUp?.(folder)
  return killed
}

function hasEnded({ exitCode, signalCode, pid }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null || pid === undefined
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // The process has already ended.
  }
}

function descendantsOf(pid: number): number[] {
  const children = childrenOf(pid)
  return [...children, ...children.flatMap(descendantsOf)]
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  } catch {
    // The process has already ended.
    return []
  }
}

/**
 * A process that has ended and was not waited for is a zombie, Z. In a process with many threads, such as Varnish, the first
 * thread may be a zombie while others still end. Until the last of them has ended, its ports are taken.
 */
function isAlive(pid: number): boolean {
  try {
    return readdirSync(`/proc/${pid}/task`).some(thread => isRunning(`/proc/${pid}/task/${thread}/stat`))
  } catch {
    return false
  }
}

function isRunning(stat: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(stat, 'utf8'))
  } catch {
    // The process has ended since its folder was listed.
    return false
  }
}

function addressOf(port: number): string {
  return `http://127.0.0.1:${port}`
}
