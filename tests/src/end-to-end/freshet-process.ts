/** The `freshet` command as users run it: in its own process, controlled only by its arguments. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const FRESHET = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
/** How long a process may take to start or end, for a busy machine. */
const PATIENCE_MS = 60_000

export interface FreshetProcess {
  readonly pid: number
  readonly port: number
  readonly url: string
  /** From the spawn to the line that says it listens. */
  readonly startMs: number
  /** Everything that the process has written to standard output so far. */
  output(): string
  /** The processes that answer requests, if they are separate. */
  workers(): readonly number[]
  signal(signal: NodeJS.Signals): void
  /** Resolves with the exit code, or the signal that ended it, and what it wrote to standard error. */
  readonly ended: Promise<{ readonly exitCode: number | null; readonly errors: string }>
  /** `kill -9`; resolves when it and its workers are gone. */
  kill(): Promise<void>
  /** As Ctrl-C does. */
  stop(): Promise<number | null>
}

export interface FreshetOptions {
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly uid?: number
  /** The program of Node that runs it; default: the one that runs the tests. */
  readonly node?: string
  /** For `runFreshet`: kill the process if it has not ended by then. */
  readonly killAfterMs?: number
}

const running = new Set<ChildProcess>()

function spawnFreshet(
  args: readonly string[],
  { environment = {}, cwd, uid, node = process.execPath }: FreshetOptions,
): ChildProcess {
  // Not detached: stopping the test run's process group stops these processes with it.
  const child = spawn(node, [FRESHET, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd === undefined ? {} : { cwd }),
    ...(uid === undefined ? {} : { uid, gid: uid }),
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

/** Starts a server on a free port, unless the arguments name one; resolves when it listens. */
export async function startFreshet(args: readonly string[], options: FreshetOptions = {}): Promise<FreshetProcess> {
  const spawnedMs = performance.now()
  const child = spawnFreshet(args.includes('--port') ? args : [...args, '--port', '0'], options)
  const errors = text(child.stderr!)
  // Only then has all output arrived.
  const ended = once(child, 'close').then(async ([exitCode]) => ({ exitCode, errors: await errors }))
  let output = ''
  child.stdout!.setEncoding('utf8')
  const listening = new Promise<number>(resolve => {
    child.stdout!.on('data', (chunk: string) => {
      output += chunk
      const port = /"port":(\d+)|http:\/\/localhost:(\d+) \(Ctrl-C/.exec(output)
      if (port) resolve(Number(port[1] ?? port[2]))
    })
  })
  const port = await Promise.race([listening, ended, delay(PATIENCE_MS, undefined, { ref: false })])
  if (typeof port !== 'number') {
    child.kill('SIGKILL')
    throw new Error(`freshet ${args.join(' ')} did not listen: ${JSON.stringify(port)} ${output} ${await errors}`)
  }
  return {
    pid: child.pid!,
    port,
    url: `http://127.0.0.1:${port}`,
    startMs: performance.now() - spawnedMs,
    output: () => output,
    workers: () => childrenOf(child.pid!),
    signal: signal => void child.kill(signal),
    ended,
    kill: () => killAll(child, ended),
    stop: async () => (await interrupt(child, ended)).exitCode,
  }
}

/** Starts a server with two workers over the data of this folder, on this port or a free one. */
export function serveFolder(folder: string, port = 0): Promise<FreshetProcess> {
  const args = ['serve', '--workers', '2', '--data', join(folder, 'data'), '--port', `${port}`]
  return startFreshet(args, { cwd: folder })
}

/** A progress line, which a command prints if it takes long, as on a busy machine. */
export const PROGRESS: RegExp = /^(?:\[[#-]+\] +\d+% )?[^\n:]+: \d+(?: of \d+)?, \d+ s(?:, at .*)?\n/gm

/** Runs a command until it ends; throws if it does not end. `errors` excludes progress lines. */
export async function runFreshet(
  args: readonly string[],
  options: FreshetOptions = {},
): Promise<{ readonly exitCode: number | null; readonly output: string; readonly errors: string }> {
  const child = spawnFreshet(args, options)
  const { killAfterMs } = options
  let isStuck = false
  const deadline = setTimeout(() => {
    isStuck = killAfterMs === undefined
    child.kill('SIGKILL')
  }, killAfterMs ?? PATIENCE_MS)
  const [output, errors, [exitCode]] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  clearTimeout(deadline)
  if (isStuck) throw new Error(`freshet ${args.join(' ')} did not end. It printed: ${output} ${errors}`)
  return { exitCode, output, errors: errors.replaceAll(PROGRESS, '') }
}

/** For `afterAll`: ends whatever a failed test has left behind. */
export async function endFreshetProcesses(): Promise<void> {
  await Promise.all([...running].map(child => killAll(child, once(child, 'exit'))))
}

async function killAll(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  const workers = childrenOf(child.pid!)
  child.kill('SIGKILL')
  await ended
  if (!(await areGone(workers))) {
    for (const pid of workers) if (isRunning(pid)) process.kill(pid, 'SIGKILL')
    throw new Error(`Workers ${workers.join(', ')} outlived their server.`)
  }
}

/** Ends a process as Ctrl-C does, and kills it if it does not end. Resolves like `ended`. */
export async function interrupt<Ending>(child: ChildProcess, ended: Promise<Ending>): Promise<Ending> {
  const deadline = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
  child.kill('SIGINT')
  try {
    return await ended
  } finally {
    clearTimeout(deadline)
  }
}

const GONE_MS_MAX = 30_000

async function areGone(pids: readonly number[]): Promise<boolean> {
  const deadlineMs = performance.now() + GONE_MS_MAX
  while (pids.some(isRunning)) {
    if (performance.now() > deadlineMs) return false
    await delay(2)
  }
  return true
}

export function isRunning(pid: number): boolean {
  try {
    // A process that has ended and was not waited for is a zombie, Z.
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    return children.trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}
