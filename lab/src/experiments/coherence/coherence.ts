/**
 * What readers see through real caches under every kind of fault: writers that bypass the caches and writers that use them,
 * late answers, purges that race with fills, killed caches, a killed server. Sessions of the real client must keep their
 * promises. Plain reads under the same load are held to the same staleness.
 *
 * Half of the reads are made with a lifetime longer than the run, so that no copy expires. The other half are made with a
 * lifetime so short that copies expire and changes leave the window all the time.
 *
 * Processes and time are real: the seed repeats what is read, written and killed, but not how the races end.
 */
import { withCaches } from '../../caches/require-caches.js'
import { TOPOLOGIES } from '../../caches/topology.js'
import { type LoadResult, runLoad } from '../../coherence-load/run-load.js'
import {
  CHECKED_COLUMNS,
  checkedCells,
  noneIsStale,
  plainReadsAreStale,
  rangeOf,
  staleReadsChart,
} from '../../coherence-load/stale-reads.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { sumOf } from '../../harness/sum-of.js'
import { formatPercent } from '../../harness/table.js'

const LIFETIMES_MS = [20_000, 1_000]
const FULL = {
  readsInAll: 1_000_000,
  plainReads: 5_000,
  faults: { intervalMs: 5_000, countMax: 1_000 },
  hitShareMin: 0.5,
}
/** Each cache with one of the lifetimes, in turn. With this few reads, filling the caches is a large part of the work. */
const QUICK = { readsInAll: 10_000, plainReads: 500, faults: { intervalMs: 300, countMax: 1 }, hitShareMin: 0.1 }

export const coherence: Experiment = {
  source: 'Gessert and Bücklers 2012, section 3.8, through Varnish, Squid and nginx themselves',
  run: withCaches(['varnish', 'squid', 'nginx'], async context =>
    toResult(await measureAll(context), context.quick ? QUICK : FULL),
  ),
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<LoadResult[]> {
  const { readsInAll, plainReads, faults } = quick ? QUICK : FULL
  const results: LoadResult[] = []
  const reads = Math.ceil(readsInAll / (TOPOLOGIES.length * (quick ? 1 : LIFETIMES_MS.length)))
  for (const [i, topology] of TOPOLOGIES.entries()) {
    for (const lifetimeMs of quick ? [LIFETIMES_MS[i % LIFETIMES_MS.length]!] : LIFETIMES_MS) {
      const label = `${topology.name}, ${lifetimeMs / 1000} s`
      const before = results.length * reads
      const onProgress = (done: number) => progress(before + Math.min(done, reads), readsInAll, label)
      const part = random.fork(label)
      const load = { topology, random: part, reads, plainReads, lifetimeMs, faults, onProgress }
      results.push(await runLoad(load))
    }
  }
  return results
}

function toResult(results: readonly LoadResult[], { hitShareMin }: { readonly hitShareMin: number }): ExperimentResult {
  const columns = [
    ...[...CHECKED_COLUMNS, 'from caches', 'writes', 'purges', 'caches killed', 'server killed', 'no answer', 's'],
  ]
  const rows = results.map(result => [
    ...checkedCells(result),
    formatPercent(result.hitShare),
    result.writes,
    result.purges,
    result.cacheRestarts,
    result.serverRestarts,
    result.failed,
    Math.round(result.seconds),
  ])
  return {
    summary: {
      checkedReads: sumOf(results, result => result.checkedReads),
      violations: sumOf(results, result => result.violations),
      naiveViolations: sumOf(results, result => result.naiveViolations),
      byTopology: byTopology(results),
    },
    points: results,
    tables: [{ title: 'Reads through real caches', columns, rows }],
    plots: [
      {
        name: 'stale-reads',
        chart: staleReadsChart('Stale reads through real caches', results, ({ topology }) => topology),
      },
    ],
    verdicts: verdictsOf(results, hitShareMin),
  }
}

function byTopology(results: readonly LoadResult[]): Record<string, unknown> {
  return Object.fromEntries(
    TOPOLOGIES.map(({ name }) => {
      const own = results.filter(({ topology }) => topology === name)
      const figures = {
        checkedReads: sumOf(own, result => result.checkedReads),
        violations: sumOf(own, result => result.violations),
        naiveReads: sumOf(own, result => result.naiveReads),
        naiveViolations: sumOf(own, result => result.naiveViolations),
        hitShare: sumOf(own, result => result.hitShare) / own.length,
      }
      return [name, figures]
    }),
  )
}

function verdictsOf(results: readonly LoadResult[], hitShareMin: number): Verdict[] {
  const failed = sumOf(results, result => result.failed)
  const reads = sumOf(results, result => result.checkedReads)
  const hits = results.map(({ hitShare }) => hitShare)
  return [
    noneIsStale('no session read is older than promised, whichever caches it passes', results),
    plainReadsAreStale('through every one of these caches, some plain reads are stale', results, 'them'),
    {
      claim: 'caches answer a large part of the reads',
      holds: hits.every(share => share > hitShareMin),
      detail: `${rangeOf(hits)} of the requests`,
    },
    {
      claim: 'almost every read gets an answer, although servers and caches are killed',
      holds: failed < 0.01 * reads,
      detail: `${failed} of ${reads}`,
    },
  ]
}
