/**
 * Are the results of queries as coherent as single objects? Many sessions query through real caches and from their own memory,
 * while writers insert, update and delete, an index is dropped and declared again, answers come late, and the server and the
 * caches are killed. Every result is compared with the exact result at every position that its promise allows.
 *
 * Processes and time are real: the seed repeats what is queried, written and killed, but not how the races end.
 */
import { withCaches } from '../../caches/require-caches.js'
import { SHORT_WINDOW, startSlowOrigin } from '../../caches/slow-origin.js'
import { runThrough, TOPOLOGIES, type Topology } from '../../caches/topology.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { formatPercent } from '../../harness/table.js'
import { type QueryLoadResult, runQueryLoad } from '../../query-load/run-query-load.js'

const FULL = { reads: 1_000_000, readsBetweenFaults: 6_000, topologies: TOPOLOGIES.map(({ name }) => name) }
const QUICK = { reads: 30_000, readsBetweenFaults: 1_500, topologies: ['Varnish', 'Squid', 'nginx'] }
/** One is longer than a run, so that no copy expires; the other is so short that changes leave the window. */
const LIFETIME_MS_SHORT = 1_000
const LIFETIMES_MS = [20_000, LIFETIME_MS_SHORT]
/** Compression is off: the processor has enough to do. */
const SETTINGS = { ...SHORT_WINDOW, compressBytesMin: 1_000_000 }
const LATE = { lateShare: 0.05, lateMs: 200 }
const SESSIONS = 12

interface Run extends QueryLoadResult {
  readonly topology: string
  readonly lifetimeMs: number
  /** The share of results that did not come from the server, but from caches or from a session's memory. */
  readonly hitRatio: number
}

export const queryCoherence: Experiment = {
  source: 'Gessert and Bücklers 2012 leave query results uncached; the promise is that of section 3.8',
  run: withCaches(['varnish', 'squid', 'nginx'], async context => toResult(await measureAll(context))),
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<Run[]> {
  const { reads: readsInAll, readsBetweenFaults, topologies } = quick ? QUICK : FULL
  const chosen = TOPOLOGIES.filter(({ name }) => topologies.includes(name))
  const places = chosen.map((topology, i) => ({ topology, lifetimeMs: LIFETIMES_MS[i % LIFETIMES_MS.length]! }))
  const weights = places.map(({ lifetimeMs }) => weightOf(lifetimeMs))
  const unit = readsInAll / weights.reduce((sum, weight) => sum + weight, 0)
  const runs: Run[] = []
  for (const { topology, lifetimeMs } of places) {
    const before = runs.reduce((sum, run) => sum + run.reads, 0)
    const reads = Math.ceil(unit * weightOf(lifetimeMs))
    const onProgress = (done: number) => progress(before + Math.min(done, reads), readsInAll, topology.name)
    const load = { random: random.fork(topology.name), reads, onProgress }
    runs.push({
      topology: topology.name,
      lifetimeMs,
      ...(await runBehind(topology, lifetimeMs, readsBetweenFaults, load)),
    })
  }
  return runs
}

/** Where copies expire all the time, little comes from memory, and a read takes several times as long. */
function weightOf(lifetimeMs: number): number {
  return lifetimeMs > LIFETIME_MS_SHORT ? 6 : 1
}

function runBehind(
  topology: Topology,
  lifetimeMs: number,
  readsBetween: number,
  load: { readonly random: Random; readonly reads: number; readonly onProgress: (done: number) => void },
): Promise<QueryLoadResult & { readonly hitRatio: number }> {
  const starting = startSlowOrigin({ settings: { ...SETTINGS, lifetimeMs }, ...LATE })
  return runThrough(topology, starting, async (origin, { url, fetch, caches }) => {
    const random = load.random.fork('killed')
    const restart = () => (random.below(2) === 0 ? origin.restart() : random.pick(caches).restart())
    const faults = { readsBetween, restart }
    const result = await runQueryLoad({ ...load, url, fetch, originUrl: origin.url, sessions: SESSIONS, faults })
    return { ...result, hitRatio: 1 - origin.dataReads / (result.reads + result.naiveReads) }
  })
}

function toResult(runs: readonly Run[]): ExperimentResult {
  const sum = (figure: (run: Run) => number) => runs.reduce((total, run) => total + figure(run), 0)
  const [reads, stale] = [sum(run => run.reads), sum(run => run.stale)]
  const hitRatio = sum(run => run.hitRatio * run.reads) / reads
  return {
    summary: { reads, stale, naiveReads: sum(run => run.naiveReads), naiveStale: sum(run => run.naiveStale), hitRatio },
    points: runs,
    tables: [
      {
        title: 'Queries through real caches',
        columns: [
          ...['through', 'lifetime / s', 'results checked', 'stale', 'plain', 'stale', 'share', 'not from the server'],
          ...['from memory', 'writes', 'indexes changed', 'killed', 'no answer', 's'],
        ],
        rows: runs.map(run => [
          ...[run.topology, run.lifetimeMs / 1000, run.reads, run.stale, run.naiveReads, run.naiveStale],
          ...[formatPercent(run.naiveStale / run.naiveReads), formatPercent(run.hitRatio)],
          ...[formatPercent(run.fromMemory / run.reads), run.writes, run.declarations, run.restarts, run.failed],
          Math.round(run.seconds),
        ]),
      },
    ],
    plots: [
      {
        name: 'stale-results',
        chart: {
          kind: 'bars',
          title: 'Stale results of queries through real caches',
          subtitle: 'a result is stale if the query had another result at every time that its mode allows',
          y: { name: 'share of the results', percent: true, min: 0 },
          categories: runs.map(({ topology }) => topology),
          series: [
            { name: 'plain reads', values: runs.map(run => run.naiveStale / run.naiveReads) },
            { name: 'sessions', values: runs.map(run => run.stale / run.reads) },
          ],
        },
      },
    ],
    verdicts: [
      {
        claim: 'no session result is older than promised, whichever caches it passes',
        holds: stale === 0,
        detail: [`${stale} of ${reads} results`, ...runs.flatMap(({ traces }) => traces)].join('\n'),
      },
      {
        claim: 'some plain reads are stale, wherever copies live longer than a moment',
        holds: runs.every(({ naiveStale, lifetimeMs }) => naiveStale > 0 || lifetimeMs <= LIFETIME_MS_SHORT),
        detail: `${sum(run => run.naiveStale)} of ${sum(run => run.naiveReads)}`,
      },
      {
        claim: 'most results do not come from the server',
        holds: hitRatio > 0.5,
        detail: formatPercent(hitRatio),
      },
      {
        claim: 'almost every query gets an answer, although servers and caches are killed',
        holds: sum(run => run.failed) < 0.01 * reads,
        detail: `${sum(run => run.failed)} of ${reads}`,
      },
    ],
  }
}
