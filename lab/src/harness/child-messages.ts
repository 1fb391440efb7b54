/** Child processes that speak over IPC: how they are started and ended, and their next message. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** The child's stderr is shown. The child gets its settings as JSON in its only argument. */
export function forkQuietly(path: string, settings: string): ChildProcess {
  return fork(path, [settings], { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
}

/** The child's next message. Throws if the process ends before it sends one. */
export async function messageOf<Message>(child: ChildProcess, name: string): Promise<Message> {
  const controller = new AbortController()
  const { signal } = controller
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`${name} ended with exit code ${code}.`)
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), ended])) as [Message]
    return message
  } finally {
    ended.catch(() => {})
    controller.abort()
  }
}

/** Returns when the process has ended. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}
