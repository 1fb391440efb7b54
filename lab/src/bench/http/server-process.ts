/** A server under load: a separate process that reports where it listens, and how much processor time it has used. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

export interface ServerProcess {
  readonly url: string
  /** Seconds of processor time used by the process and its workers. */
  cpuSeconds(): number
  /** Sends the signal without waiting for its effect. */
  signal(name: NodeJS.Signals): void
  stop(): Promise<void>
  /** `kill -9` */
  kill(): Promise<void>
}

export interface ServerCommand {
  readonly name: string
  /** The program to run; Node, if undefined. */
  readonly program?: string
  readonly args: readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly cwd?: string
  /** The processor to pin it to; any, if undefined. */
  readonly core?: number | undefined
}

const START_MS_MAX = 20_000
/** `getconf CLK_TCK` on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100

/** Starts the program and waits for the first line with an http:// address in it. */
export async function startServer(server: ServerCommand): Promise<ServerProcess> {
  const { name, program = process.execPath, args, core, env = process.env, cwd } = server
  const command = [...(core === undefined ? [] : ['taskset', '-c', String(core)]), program, ...args]
  const options = { env, ...(cwd === undefined ? {} : { cwd }) }
  const child = spawn(command[0]!, command.slice(1), { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  let complaints = ''
  child.stderr.setEncoding('utf8').on('data', text => {
    complaints += text
  })
  try {
    const url = await addressOf(child)
    return {
      url,
      cpuSeconds: () => cpuSecondsOf(child.pid!),
      signal: name => void child.kill(name),
      stop: () => stop(child),
      kill: () => stop(child, 'SIGKILL'),
    }
  } catch (cause) {
    await stop(child)
    throw new Error(`${name} did not start: ${(cause as Error).message}\n${complaints}`, { cause })
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  const signal = AbortSignal.timeout(START_MS_MAX)
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`it ended with exit code ${code}`)
  })
  const address = new Promise<string>(resolve => {
    for (const input of [child.stdout!, child.stderr!]) {
      createInterface({ input }).on('line', line => {
        const found = /http:\/\/[\w.]+:\d+/.exec(line)?.[0]
        if (found) resolve(found.replace('localhost', '127.0.0.1'))
      })
    }
  })
  return Promise.race([address, ended])
}

/** Its own time and its children's; a Node server's workers are threads or direct children. */
function cpuSecondsOf(pid: number): number {
  const children = readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return [String(pid), ...children].reduce((sum, each) => sum + ticksOf(each), 0) / TICKS_PER_SECOND
}

function ticksOf(pid: string): number {
  // The fields after the command's name, which may itself contain spaces: user and system time are the 14th and 15th.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')
  return Number(fields[11]) + Number(fields[12])
}

async function stop(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  const impatience = setTimeout(() => child.kill('SIGKILL'), 5000)
  await ended
  clearTimeout(impatience)
}
