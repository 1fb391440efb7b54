/**
 * What pages in a real browser see, through its own cache alone and through Squid and Varnish behind it, while other clients
 * write all the time. Sessions of the real client must keep their promises. Plain `fetch` in the same pages is held to the
 * same staleness. The browser reads; the check runs outside of it.
 *
 * Processes and time are real: the seed repeats which reads and writes are made, but not how races end.
 */
import { existsSync } from 'node:fs'
import type { Browser } from 'playwright-core'
import { CHECKED_COLUMNS, checkedCells, noneIsStale, plainReadsAreStale } from '../../coherence-load/stale-reads.js'
import { CHROMIUM_PATH, startChromium } from '../../harness/chromium.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { sumOf } from '../../harness/sum-of.js'
import { formatPercent } from '../../harness/table.js'
import { UsageError } from '../../harness/usage-error.js'
import { BROWSER_TOPOLOGIES } from './browser-topologies.js'
import type { SourceCounts } from './page-protocol.js'
import { type BrowserLoadResult, runBrowserLoad } from './run-browser-load.js'

const PROGRAMS = { chromium: CHROMIUM_PATH, varnish: '/usr/sbin/varnishd', squid: '/usr/sbin/squid' }
/** One is longer than a run, so that no copy expires. The other is so short that copies expire all the time. */
const LIFETIMES_MS = [60_000, 2_000]
const READS_FULL = 30_000
const READS_QUICK = 6_000
/** The browser counts a request that two of its reads share twice, and the server counts it once. */
const DEVIATION_MAX = 0.05

export const coherenceInBrowser: Experiment = {
  source: 'Gessert and Bücklers 2012, section 3.8, in a real browser',
  run: async context => {
    requirePrograms()
    const browser = await startChromium({ handleSIGINT: false })
    try {
      return toResult(await measureAll(context, browser))
    } finally {
      await browser.close()
    }
  },
}

function requirePrograms(): void {
  const missing = Object.entries(PROGRAMS).filter(([, path]) => !existsSync(path))
  if (missing.length === 0) return
  const names = missing.map(([name]) => name).join(' ')
  throw new UsageError(`This experiment needs ${names}. Install what is missing: sudo apt-get install ${names}`)
}

async function measureAll(
  { quick, random, progress }: ExperimentContext,
  browser: Browser,
): Promise<BrowserLoadResult[]> {
  const readsInAll = quick ? READS_QUICK : READS_FULL
  const lifetimesMs = quick ? LIFETIMES_MS.slice(0, 1) : LIFETIMES_MS
  const reads = Math.ceil(readsInAll / (BROWSER_TOPOLOGIES.length * lifetimesMs.length))
  const results: BrowserLoadResult[] = []
  for (const topology of BROWSER_TOPOLOGIES) {
    for (const lifetimeMs of lifetimesMs) {
      const label = `${topology.name}, ${lifetimeMs / 1000} s`
      const before = results.length * reads
      const onProgress = (done: number) => progress(before + Math.min(done, reads), readsInAll, label)
      results.push(
        await runBrowserLoad({ browser, topology, random: random.fork(label), reads, lifetimeMs, onProgress }),
      )
    }
  }
  return results
}

function toResult(results: readonly BrowserLoadResult[]): ExperimentResult {
  const columns = [
    ...CHECKED_COLUMNS,
    ...['browser cache', 'Squid or Varnish', 'server', 'writes', 'purges', 'no answer', 's'],
  ]
  const rows = results.map(result => [
    ...checkedCells(result),
    ...sharesOf(result.servedFrom),
    result.writes,
    result.purges,
    result.failures.length,
    Math.round(result.seconds),
  ])
  return {
    summary: {
      checkedReads: sumOf(results, ({ checkedReads }) => checkedReads),
      violations: sumOf(results, ({ violations }) => violations),
      naiveReads: sumOf(results, ({ naiveReads }) => naiveReads),
      naiveViolations: sumOf(results, ({ naiveViolations }) => naiveViolations),
      servedFrom: {
        browserCache: sumOf(results, ({ servedFrom }) => servedFrom.browser),
        squidOrVarnish: sumOf(results, ({ servedFrom }) => servedFrom.shared),
        origin: sumOf(results, ({ servedFrom }) => servedFrom.server),
      },
    },
    points: results,
    tables: [{ title: 'Reads of pages in Chromium', columns, rows }],
    plots: [],
    verdicts: verdictsOf(results),
  }
}

function sharesOf({ browser, shared, server }: SourceCounts): string[] {
  const all = browser + shared + server
  return [browser, shared, server].map(count => formatPercent(count / all))
}

function verdictsOf(results: readonly BrowserLoadResult[]): Verdict[] {
  const failures = results.flatMap(result => result.failures)
  // Expired copies are revalidated. Squid then reports a hit, although the server was asked.
  const lasting = results.filter(({ lifetimeMs }) => lifetimeMs === Math.max(...LIFETIMES_MS))
  const server = sumOf(lasting, ({ serverRequests }) => serverRequests)
  const counted = sumOf(lasting, ({ serverRequestsCounted }) => serverRequestsCounted)
  return [
    noneIsStale('no session read in a browser is older than promised', results),
    plainReadsAreStale('some reads by plain fetch in the same pages are stale', results, 'its reads'),
    {
      claim: 'every cache answers session reads',
      holds: results.every(({ servedFrom, hasSharedCaches }) => {
        return servedFrom.browser > 0 && servedFrom.shared > 0 === hasSharedCaches
      }),
      detail: results.map(({ topology, servedFrom }) => `${topology} ${sharesOf(servedFrom).join(', ')}`).join('; '),
    },
    {
      claim: 'the source of each answer is reported correctly, as long as no copy expires',
      holds: Math.abs(server - counted) <= DEVIATION_MAX * counted,
      detail: `requests that reached the server: ${server} by the browser's count, ${counted} by the server's`,
    },
    {
      claim: 'every read gets an answer',
      holds: failures.length === 0,
      detail: [`${failures.length} were not`, ...failures.slice(0, 3)].join('\n'),
    },
  ]
}
