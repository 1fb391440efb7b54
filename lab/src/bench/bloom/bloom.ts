/**
 * Bloom filters for 10^6 keys like `/db/shop/products/<uuid>` at 1%: ours and those on npm, first in Node, then, for the
 * fastest of them, in Chromium.
 *
 * A peer whose rate is more than twice the target of 1% buys its speed with wrong answers: it is shown, but does not count as
 * a peer. The best peer is chosen for each measure separately.
 */
import { expectedRate, sizeFor } from '@freshet/bloom'
import type { Bench, BenchContext } from '../../harness/bench.js'
import { startBrowser } from '../../harness/browser-contender.js'
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import type { Progress } from '../../harness/experiment.js'
import { measureSideBySide, type Standing } from '../../harness/side-by-side.js'
import { type FilterDetails, type FilterSettings, MEASURES, type Measure } from './filter-worker.js'
import { nodeContenders } from './node-contenders.js'
import { OURS, portableContenders } from './portable-contenders.js'
import { MOST_USED_PEER, type Outcome, reportBloom } from './report.js'

const RATE = 0.01
const FULL = { entries: 1_000_000, rounds: 3, finalRounds: 15, roundMsMax: 1500 }
const QUICK = { entries: 200_000, rounds: 3, finalRounds: 7, roundMsMax: 400 }
/** The final has ours, this many of the fastest, and the library that most people use. */
const FASTEST_IN_FINAL = 2
/** The fastest in Node among those that run in a browser. */
const IN_BROWSER = [OURS, 'bloomfilter', '@mcrowe/minibloom', '@intrnl/bloom-filter', 'mnemonist']

type FilterInProcess = PreparedContender<FilterDetails, Measure>

export const bloom: Bench = {
  async run(context) {
    const { entries } = context.quick ? QUICK : FULL
    const node = await measureInNode(context)
    const browser = await measureInBrowser(context)
    const theoreticalRate = expectedRate(sizeFor(entries, RATE), entries)
    return reportBloom({ node, browser, entries, rate: RATE, theoreticalRate })
  },
}

async function measureInNode(context: BenchContext): Promise<Outcome> {
  const module = new URL('./contender-process.js', import.meta.url)
  const names = [...Object.keys(portableContenders), ...Object.keys(nodeContenders)]
  const start = (name: string, settings: FilterSettings) =>
    startChild<FilterDetails, Measure>({ name, module, settings })
  return measureAll(names, start, context, part(context.progress, 0, 0.7))
}

async function measureInBrowser(context: BenchContext): Promise<Outcome> {
  const browser = await startBrowser(new URL('./page.js', import.meta.url))
  const start = (name: string, settings: FilterSettings) => browser.start<FilterDetails, Measure>(name, settings)
  try {
    return await measureAll(IN_BROWSER, start, context, part(context.progress, 0.7, 1))
  } finally {
    await browser.stop()
  }
}

async function measureAll(
  names: readonly string[],
  start: (name: string, settings: FilterSettings) => Promise<FilterInProcess>,
  { quick, seed }: BenchContext,
  progress: Progress,
): Promise<Outcome> {
  const { entries, rounds, finalRounds, roundMsMax } = quick ? QUICK : FULL
  const contenders: FilterInProcess[] = []
  try {
    for (const name of names) {
      progress(contenders.length, names.length * (rounds + 2), `preparing ${name}`)
      contenders.push(await start(name, { contender: name, entries, rate: RATE, seed, roundMsMax }))
    }
    const standings = await measureSideBySide({
      contenders,
      measures: MEASURES,
      rounds,
      final: { rounds: finalRounds, finalists },
      onTurn: (done, total, name) => progress(names.length + done, names.length + total, name),
    })
    return { standings, details: new Map(contenders.map(({ name, details }) => [name, details])) }
  } finally {
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

function finalists(standings: readonly Standing<Measure>[]): string[] {
  const peers = standings.filter(({ name }) => name !== OURS).sort((a, b) => a.medians.hit - b.medians.hit)
  return [OURS, MOST_USED_PEER, ...peers.slice(0, FASTEST_IN_FINAL).map(({ name }) => name)]
}

/** Progress from `from` to `to` of the whole. */
function part(progress: Progress, from: number, to: number): Progress {
  return (done, total, label) => progress(from + (to - from) * (done / total), 1, label)
}
