/** `npm run filters` without the build: the server of the filter page in its own process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { interrupt } from './freshet-process.js'

const SERVE = fileURLToPath(import.meta.resolve('@freshet/lab/dist/page/serve.js'))
const REFUSAL_MS_MAX = 60_000

export interface ServedPage {
  readonly port: number
  readonly url: string
  /** Ends the process as Ctrl-C does; returns its exit code, or null if it had to be killed. */
  stop(): Promise<number | null>
}

type Environment = Readonly<Record<string, string>>

/** Serves on a free port. */
export async function servePage(): Promise<ServedPage> {
  const child = spawnServe(['--port', '0'])
  const ended = exitOf(child)
  const line = await Promise.race([firstLine(child), ended])
  const port = /http:\/\/localhost:(\d+) \(Ctrl-C stops it\)$/.exec(String(line))?.[1]
  if (!port) throw new Error(`The page was not served (${line}): ${await text(child.stderr!)}`)
  return { port: Number(port), url: `http://localhost:${port}`, stop: () => interrupt(child, ended) }
}

/** Runs it with arguments that it must refuse. */
export async function refusalOf(
  args: readonly string[],
  environment: Environment = {},
): Promise<{ exitCode: number | null; message: string }> {
  const child = spawnServe(args, environment, REFUSAL_MS_MAX)
  const [message, exitCode] = await Promise.all([text(child.stderr!), exitOf(child)])
  return { exitCode, message }
}

function spawnServe(args: readonly string[], environment: Environment = {}, timeout?: number): ChildProcess {
  return spawn(process.execPath, [SERVE, ...args], {
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout,
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  const [line] = await once(createInterface(child.stdout!), 'line')
  return line
}

async function exitOf(child: ChildProcess): Promise<number | null> {
  const [exitCode] = await once(child, 'exit')
  return exitCode
}
