/** A link in its own process. The options come as JSON in the only argument, everything else over IPC. */
import type { Conditions } from './conditions.js'
import { type Direction, type LinkCounts, type LinkOptions, startLink } from './link.js'

export type LinkCommand =
  | { readonly kind: 'change'; readonly conditions: Partial<Conditions> }
  | { readonly kind: 'cut'; readonly directions: readonly Direction[] }
  | { readonly kind: 'mend' }
  | { readonly kind: 'counts' }

/** One reply per command, in the order of the commands; and one at the start. */
export interface LinkReply {
  readonly url: string
  readonly counts: LinkCounts
}

const link = await startLink(JSON.parse(process.argv[2]!) as LinkOptions)

process.on('message', (command: LinkCommand) => {
  if (command.kind === 'change') link.change(command.conditions)
  else if (command.kind === 'cut') link.cut(...command.directions)
  else if (command.kind === 'mend') link.mend()
  reply()
})
process.once('disconnect', () => process.exit())
reply()

function reply(): void {
  const { url, counts } = link
  process.send?.({ url, counts } satisfies LinkReply)
}
