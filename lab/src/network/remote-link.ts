/** A link in its own process, so that its work takes no time from the measured code. */
import { fileURLToPath } from 'node:url'
import { endChild, forkQuietly, messageOf } from '../harness/child-messages.js'
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

/** The process ends by itself when this one does. */
export async function startRemoteLink(options: LinkOptions): Promise<RemoteLink> {
  const child = forkQuietly(PROCESS, JSON.stringify(options, writable))
  const nextReply = () => messageOf<LinkReply>(child, 'The link')
  const { url } = await nextReply()
  let last: Promise<unknown> = Promise.resolve()
  const command = (message: LinkCommand): Promise<LinkReply> => {
    const reply = last.then(() => {
      child.send(message)
      return nextReply()
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
    stop: () => endChild(child),
  }
}

/** JSON has no Infinity. It is the default speed of a link, so it is left out. */
function writable(_name: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? undefined : value
}
