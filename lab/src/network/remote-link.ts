/** A link in a process of its own, so that what it does takes no time from whoever is measured. */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Conditions } from './conditions.js'
import type { Direction, LinkCounts, LinkOptions } from './link.js'
import type { LinkCommand, LinkReply } from './link-process.js'

const PROCESS = fileURLToPath(new URL('../../dist/network/link-process.js', import.meta.url))

export interface RemoteLink {
  readonly url: string
  change(conditions: Partial<Conditions>): Promise<void>
  cut(...directions: readonly Direction[]): Promise<void>
  mend(): Promise<void>
  counts(): Promise<LinkCounts>
  stop(): Promise<void>
}

/** It ends by itself when this process does. */
export async function startRemoteLink(options: LinkOptions): Promise<RemoteLink> {
  const child = fork(PROCESS, [JSON.stringify(options, writable)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const { url } = await replyOf(child)
  let last: Promise<unknown> = Promise.resolve()
  const command = (message: LinkCommand): Promise<LinkReply> => {
    const reply = last.then(() => {
      child.send(message)
      return replyOf(child)
    })
    last = reply
    return reply
  }
  return {
    url,
    change: async conditions => void (await command({ kind: 'change', conditions })),
    cut: async (...directions) => void (await command({ kind: 'cut', directions })),
    mend: async () => void (await command({ kind: 'mend' })),
    counts: async () => (await command({ kind: 'counts' })).counts,
    stop: () => stop(child),
  }
}

/** JSON has no Infinity. It is what a line carries that nothing is said of, so it is left out. */
function writable(_name: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? undefined : value
}

async function replyOf(child: ChildProcess): Promise<LinkReply> {
  const controller = new AbortController()
  const { signal } = controller
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`The link ended with exit code ${code}.`)
  })
  try {
    const [reply] = (await Promise.race([once(child, 'message', { signal }), ended])) as [LinkReply]
    return reply
  } finally {
    ended.catch(() => {})
    controller.abort()
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
