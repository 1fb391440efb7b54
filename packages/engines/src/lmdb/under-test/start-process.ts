/** Starts a compiled program of this folder in a process of its own. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface RunningProcess {
  readonly child: ChildProcess
  /** The next message for which `matches` returns true. Rejects if the process ends first. */
  message<Message>(matches: (message: unknown) => message is Message): Promise<Message>
  /** Resolves when the process has ended. */
  kill(signal?: NodeJS.Signals): Promise<void>
}

export function startProcess(module: URL, args: readonly string[]): RunningProcess {
  const child = fork(fileURLToPath(module).replace('/src/', '/dist/'), [...args], { serialization: 'advanced' })
  return {
    child,
    message: matches => nextMessage(child, matches),
    async kill(signal = 'SIGKILL') {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill(signal)
      await ended
    },
  }
}

function nextMessage<Message>(
  child: ChildProcess,
  matches: (message: unknown) => message is Message,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      if (!matches(message)) return
      stop()
      resolve(message)
    }
    const onExit = (code: number | null, signal: string | null) => {
      stop()
      reject(new Error(`The process ended before it sent the expected message (${signal ?? code}).`))
    }
    const stop = () => {
      child.off('message', onMessage)
      child.off('exit', onExit)
    }
    child.on('message', onMessage)
    child.on('exit', onExit)
  })
}
