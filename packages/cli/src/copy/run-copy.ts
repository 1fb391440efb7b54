/** `freshet copy`: opens both stores, copies, tells how far it is, and compares them in the end. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { ProgressLine } from '../command/progress.js'
import { withoutPassword } from '../config/store-kind.js'
import { openNamedStore } from '../serve/open-store.js'
import type { CopyLine } from './copy-line.js'
import { type CopyOptions, type CopyProgress, type CopyReport, copyStore, followStore } from './copy-store.js'

const EXIT_FAILED = 1
const EXIT_STOPPED = 130
const FOLLOW_MS = 200

export async function runCopy({ from, to, follows, isJson }: CopyLine): Promise<number> {
  const stopping = new AbortController()
  const stop = () => stopping.abort()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop)
  const opened: Store[] = []
  const progress = new ProgressLine()
  const onProgress = ({ phase: what, done, bucket: at }: CopyProgress) => progress.show({ what, done, at })
  try {
    for (const name of [from, to]) opened.push(await openNamedStore(name, warning => console.error(warning)))
    const options = { from: opened[0]!, to: opened[1]!, onProgress, signal: stopping.signal }
    tellOfIndexes(options)
    const report = await copyStore(options)
    progress.clear()
    tell(report, isJson, withoutPassword(to))
    if (follows) await follow(options)
    return 0
  } catch (error) {
    progress.clear()
    if (stopping.signal.aborted) {
      console.error('Stopped. The same command goes on from here.')
      return EXIT_STOPPED
    }
    if (!(error instanceof FreshetError)) throw error
    console.error(error.message)
    return EXIT_FAILED
  } finally {
    for (const store of opened) await store.close()
  }
}

/** Until it is stopped, which is the way to end it. */
async function follow(options: CopyOptions & { readonly signal: AbortSignal }): Promise<void> {
  console.error('Following what changes. Stop the servers over the source, then this with Ctrl-C.')
  while (!options.signal.aborted) {
    await followStore(options).catch(error => {
      if (!options.signal.aborted) throw error
    })
    await delay(FOLLOW_MS, undefined, { signal: options.signal }).catch(() => undefined)
  }
}

function tellOfIndexes({ from, to }: Pick<CopyOptions, 'from' | 'to'>): void {
  if (from.supports.queries && !to.supports.queries)
    console.error('The target answers no queries: indexes are not copied.')
}

function tell({ copied, compared, repaired, position }: CopyReport, isJson: boolean, to: string): void {
  if (isJson) console.log(JSON.stringify({ copied, compared, repaired, position }))
  else console.log(`${copied} copied to ${to}, ${compared} compared: both are the same.`)
}
