/** A contender in a long-lived child process: its own heap, its own compiler, its own collector. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { endChild } from './child-messages.js'
import type { FromWorker, ToWorker } from './contender-worker.js'
import type { Contender, Readings } from './side-by-side.js'

export interface PreparedContender<Details, Measure extends string> extends Contender<Measure> {
  readonly details: Details
  stop(): Promise<void>
}

export interface ChildOptions {
  readonly name: string
  /** A module that calls `hostInChild`. */
  readonly module: URL
  readonly settings: unknown
  /** Further arguments for Node. */
  readonly nodeArguments?: readonly string[]
}

export async function startChild<Details, Measure extends string>(
  options: ChildOptions,
): Promise<PreparedContender<Details, Measure>> {
  const { name, module, settings, nodeArguments = [] } = options
  // Old peers warn about APIs that Node deprecates; their stdout must not mix with our JSON.
  const child = fork(fileURLToPath(module), {
    execArgv: ['--expose-gc', '--no-deprecation', ...nodeArguments],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    const details = (await ask(child, name, { kind: 'prepare', settings })) as Details
    return {
      name,
      details,
      round: async () => (await ask(child, name, { kind: 'round' })) as Readings<Measure>,
      stop: () => endChild(child, 'SIGTERM'),
    }
  } catch (error) {
    await endChild(child, 'SIGTERM')
    throw error
  }
}

function ask(child: ChildProcess, name: string, question: ToWorker): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      child.off('exit', onExit)
      const answer = message as FromWorker
      if ('failure' in answer) reject(new Error(`${name} failed in its process:\n${answer.failure}`))
      else resolve(answer.answer)
    }
    const onExit = (code: number | null, signal: string | null) => {
      child.off('message', onMessage)
      reject(new Error(`The process of ${name} ended too early (${signal ?? `exit code ${code}`}).`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
    child.send(question)
  })
}
