/** The page's entry point in the browser: a writer, two readers that read in a loop, and everything shown about them. */
import { type AcknowledgedWrite, AcknowledgedWrites } from './acknowledged-writes.js'
import { FreshetReader, STALENESS_MS } from './freshet-reader.js'
import { find, setText, showFailure } from './page-elements.js'
import { readPlain } from './plain-reader.js'
import { mountProductRows, type ReaderName, type Write } from './product-rows.js'
import { ProductWriter } from './product-writer.js'
import { PRODUCT_IDS, pathOf } from './products.js'
import type { Reading } from './reading.js'
import { mountSessionLink, showContinued, tokenOfVisit } from './session-link.js'
import { refreshSketchStrip } from './sketch-strip.js'
import { counted, NO_READS } from './tally.js'
import { mountTallyRow } from './tally-row.js'

const ROUND_MS = 1000

const token = tokenOfVisit()
const [writer, reader] = await Promise.all([ProductWriter.open(), FreshetReader.open(token)]).catch(error => {
  showFailure(error)
  throw error
})
const writes = new AcknowledgedWrites()
const otherTabs = new BroadcastChannel('freshet-demo')
const tallies = { plain: NO_READS, fresh: NO_READS }
const showTally = { plain: mountTallyRow('plain-tally'), fresh: mountTallyRow('fresh-tally') }
const showSession = mountSessionLink()

const write: Write = async (id, change) => {
  try {
    const { product, version } = await writer.change(id, change)
    const acknowledged: AcknowledgedWrite = { id, version, timeMs: Date.now() }
    writes.add(acknowledged)
    otherTabs.postMessage(acknowledged)
    rows.get(id)!.showLatest(product, version)
    setText('write-status', `Written: ${product.name} is version ${version}.`)
    showFailure(undefined)
  } catch (error) {
    showFailure(error)
  }
}

const rows = mountProductRows(write)

otherTabs.addEventListener('message', ({ data }: MessageEvent<AcknowledgedWrite>) => {
  writes.add(data)
  showLatest(data.id).catch(showFailure)
})

async function showLatest(id: string): Promise<void> {
  const { product, version } = await writer.latest(id)
  rows.get(id)!.showLatest(product, version)
}

function take(name: ReaderName, reading: Reading): void {
  const isStale = writes.isStale(reading.id, reading.version, reading.beganMs, STALENESS_MS)
  // Any version that a reader has seen was written.
  if (reading.product) {
    writes.add({ id: reading.id, version: reading.version, timeMs: reading.beganMs })
    if (name === 'fresh') rows.get(reading.id)!.showLatest(reading.product, reading.version)
  }
  setText('lifetime', `${reading.lifetimeMs / 1000} s`)
  tallies[name] = counted(tallies[name], reading.source, isStale)
  rows.get(reading.id)!.showReading(name, reading, writes, Date.now())
  showTally[name](tallies[name])
}

/** One reader after the other, so that neither finds in the cache what the other has put there in the same round. */
async function readAll(): Promise<void> {
  performance.clearResourceTimings()
  for (const reading of await Promise.all(PRODUCT_IDS.map(readPlain))) take('plain', reading)
  for (const reading of await Promise.all(PRODUCT_IDS.map(id => reader.read(id)))) take('fresh', reading)
  setText('sketch-requests', reader.sketchRequests.toLocaleString('en'))
  showSession(reader.token, reader.position)
  await refreshSketchStrip()
}

let isPaused = false

async function loop(): Promise<void> {
  for (;;) {
    const beganMs = performance.now()
    try {
      if (!isPaused) await readAll()
      showFailure(undefined)
    } catch (error) {
      showFailure(error)
    }
    await new Promise(resolve => setTimeout(resolve, Math.max(50, ROUND_MS - (performance.now() - beganMs))))
  }
}

function mountControls(): void {
  const pause = find('pause', HTMLButtonElement)
  pause.addEventListener('click', () => {
    isPaused = !isPaused
    pause.ariaPressed = String(isPaused)
  })
  find('reset', HTMLButtonElement).addEventListener('click', () => {
    tallies.plain = NO_READS
    tallies.fresh = NO_READS
    showTally.plain(NO_READS)
    showTally.fresh(NO_READS)
  })
  setText('curl', `curl -i ${location.origin}${pathOf('tea')}`)
}

mountControls()
showContinued(token)
Promise.all(PRODUCT_IDS.map(showLatest)).catch(showFailure)
loop()
