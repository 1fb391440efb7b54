/** A server that a package manager, or a command of the README, starts: in a process group of its own, as a shell starts it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

export interface InstalledServer {
  readonly url: string
  /** Everything that the command has printed so far. */
  output(): string
  /** As Ctrl-C does: the signal goes to everything that the command has started. */
  stop(): Promise<void>
}

/** Resolves when the server says that it listens. Throws if it ends before. */
export async function startInstalled(
  cwd: string,
  command: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<InstalledServer> {
  const [program, ...args] = command as [string, ...string[]]
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'close')
  let printed = ''
  const listening = new Promise<string>(resolve => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        printed += chunk
        const found = /(http:\/\/localhost:\d+) \(Ctrl-C/.exec(printed)
        if (found) resolve(found[1]!)
      })
    }
  })
  const url = await Promise.race([listening, ended.then(() => undefined)])
  if (url === undefined) throw new Error(`${command.join(' ')} ended before it listened:\n${printed}`)
  return {
    url,
    output: () => printed,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGINT')
      await ended
    },
  }
}
