/** The page's entry in the browser: sessions of the real client, and plain readers beside them, controlled from outside. */
import { createRandom } from '../../../harness/random.js'
import { LOAD_PAGE, type LoadPage, type PageCounts, type PageSettings, type ReaderKind } from '../page-protocol.js'
import { showCounts, showVerdict, showWay } from './live-view.js'
import { runPlainReader } from './plain-reader.js'
import { RequestSources } from './request-sources.js'
import { runSessionReader } from './session-reader.js'
import { StepLog } from './step-log.js'

const PLAIN_READERS = 2
const SHOW_MS = 100

const sources = new RequestSources()
const log = new StepLog()
const reads = { session: noReads(), plain: noReads() }
let isOver = false
let running: Promise<unknown> = Promise.resolve()

function noReads() {
  return { browser: 0, shared: 0, server: 0 }
}

function counts(): PageCounts {
  return { reads, requests: sources.counts }
}

/** A read of several objects counts once for each object in it. */
function count(kind: ReaderKind, url: string): void {
  const ids = new URL(url, location.href).searchParams.get('ids')
  const objects = ids === null ? 1 : ids.split(',').length
  sources.of(url).then(source => {
    reads[kind][source] += objects
  })
}

function start({ seed, refreshes, way, firstNumber }: PageSettings): readonly ReaderKind[] {
  const random = createRandom(seed)
  let number = firstNumber
  const kinds: ReaderKind[] = []
  const parts: Promise<void>[] = []
  const join = (kind: ReaderKind) => {
    const reader = kinds.push(kind) - 1
    return { reader, random: random.fork(`${reader}`), log, sources, onRead: (url: string) => count(kind, url) }
  }
  for (const refresh of refreshes) {
    parts.push(runSessionReader({ ...join('session'), refresh, nextNumber: () => number++ }, () => isOver))
  }
  for (let i = 0; i < PLAIN_READERS; i++) parts.push(runPlainReader(join('plain'), () => isOver))
  showWay(way)
  setInterval(() => showCounts(counts()), SHOW_MS)
  running = Promise.all(parts)
  // `stop` reports a failure; this handler only keeps it from being unhandled until then.
  running.catch(() => {})
  return kinds
}

const page: LoadPage = {
  now: () => performance.now(),
  start,
  take: () => log.take(),
  counts,
  showVerdicts: verdicts => {
    for (const kind of ['plain', 'session'] as const) showVerdict(kind, verdicts[kind])
  },
  stop: async () => {
    isOver = true
    await running
    showCounts(counts())
  },
}

Object.assign(globalThis, { [LOAD_PAGE]: page })
