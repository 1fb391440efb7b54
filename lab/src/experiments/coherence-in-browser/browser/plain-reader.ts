/** What a page without the client does: `fetch`, with whatever the caches return. */
import { parseEtag } from '@freshet/protocol'
import { STALENESS_MS } from '../../../coherence-load/read-modes.js'
import { BUCKET, type Item, OBJECT_IDS } from '../../../coherence-load/stored-items.js'
import type { Random } from '../../../harness/random.js'
import type { EndStep } from '../page-protocol.js'
import type { RequestSources } from './request-sources.js'
import type { StepLog } from './step-log.js'

export interface PlainReaderOptions {
  readonly reader: number
  readonly random: Random
  readonly log: StepLog
  readonly sources: RequestSources
  readonly onRead: (url: string) => void
}

/** Without the pause it would take the browser's time from the sessions, which have more to do for each read. */
const PAUSE_MS = 10

export async function runPlainReader(options: PlainReaderOptions, isOver: () => boolean): Promise<void> {
  const { reader, random, log, sources, onRead } = options
  while (!isOver()) {
    const id = random.pick(OBJECT_IDS)
    const url = `/db/${BUCKET}/${id}`
    const read = log.nextRead()
    const step = { reader, read }
    log.add({ ...step, kind: 'begin', timeMs: performance.now(), id, what: 'a plain read', ageMs: STALENESS_MS })
    try {
      const response = await sources.fetch(url, { method: 'GET', credentials: 'omit' })
      const found = await foundIn(response)
      log.add({ ...step, kind: 'end', timeMs: performance.now(), url, found })
      onRead(url)
    } catch (error) {
      log.add({ ...step, kind: 'fail', timeMs: performance.now(), message: String(error) })
    }
    await new Promise(resolve => setTimeout(resolve, PAUSE_MS))
  }
}

async function foundIn(response: Response): Promise<EndStep['found']> {
  const body = await response.json()
  if (response.status === 404) return undefined
  const version = parseEtag(response.headers.get('etag') ?? '')
  if (version === undefined) throw new Error(`The answer to ${response.url}, status ${response.status}, has no ETag.`)
  return { version, number: (body as Item).number }
}
