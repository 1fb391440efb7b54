/**
 * What readers see through real caches when the data is in an engine that two servers share. Either server answers, and servers
 * are killed again and again. Sessions must keep their promises, as in `coherence`; plain reads are judged by the same promises.
 */
import { withCaches } from '../../caches/require-caches.js'
import { TOPOLOGIES } from '../../caches/topology.js'
import { type LoadResult, runLoad } from '../../coherence-load/run-load.js'
import { noneIsStale, staleReadsChart } from '../../coherence-load/stale-reads.js'
import type { EngineName } from '../../engines/engine-name.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { sumOf } from '../../harness/sum-of.js'
import { formatPercent } from '../../harness/table.js'

interface Size {
  readonly engines: readonly EngineName[]
  readonly topologies: readonly string[]
  readonly lifetimesMs: readonly number[]
  readonly reads: number
  readonly faults: { readonly intervalMs: number; readonly countMax: number }
}

const FULL: Size = {
  engines: ['PostgreSQL', 'MariaDB', 'Redis', 'Cassandra', 'SQLite'],
  topologies: ['Varnish', 'Squid before Varnish', 'Varnish beside nginx'],
  lifetimesMs: [20_000, 1000],
  reads: 20_000,
  faults: { intervalMs: 4000, countMax: 1000 },
}
const QUICK: Size = {
  engines: ['MariaDB', 'Cassandra'],
  topologies: ['Varnish'],
  lifetimesMs: [1000],
  reads: 3000,
  faults: { intervalMs: 500, countMax: 6 },
}

const CHART_TITLE = 'Stale reads: two servers over one engine, one of them killed again and again'

interface EngineResult extends LoadResult {
  readonly engine: EngineName
}

export const coherenceEngines: Experiment = {
  source: 'Gessert and Bücklers 2012, section 3.8, with the data in an engine that two servers share',
  run: withCaches(['varnish', 'squid', 'nginx'], async context => toResult(await measureAll(context))),
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<EngineResult[]> {
  const { engines, topologies, lifetimesMs, reads, faults } = quick ? QUICK : FULL
  const plainReads = reads / 10
  const parts = engines.flatMap(engine =>
    TOPOLOGIES.filter(({ name }) => topologies.includes(name)).flatMap(topology =>
      lifetimesMs.map(lifetimeMs => ({ engine, topology, lifetimeMs })),
    ),
  )
  const results: EngineResult[] = []
  for (const { engine, topology, lifetimeMs } of parts) {
    const label = `${engine}, ${topology.name}, ${lifetimeMs / 1000} s`
    const before = results.length * reads
    const onProgress = (done: number) => progress(before + Math.min(done, reads), parts.length * reads, label)
    const part = random.fork(label)
    const load = { topology, engine, random: part, reads, plainReads, lifetimeMs, faults, onProgress }
    results.push({ engine, ...(await runLoad(load)) })
  }
  return results
}

function toResult(results: readonly EngineResult[]): ExperimentResult {
  const sum = (of: (result: EngineResult) => number) => sumOf(results, of)
  const violations = sum(result => result.violations)
  const checkedReads = sum(result => result.checkedReads)
  return {
    summary: { checkedReads, violations, naiveViolations: sum(result => result.naiveViolations) },
    points: results,
    tables: [
      {
        title: 'Two servers over one engine, behind HAProxy',
        columns: [
          ...[
            'engine',
            'through',
            'lifetime / s',
            'checked reads',
            'violations',
            'plain reads',
            'stale',
            'from caches',
          ],
          ...['writes', 'caches killed', 'servers killed', 'no answer', 's'],
        ],
        rows: results.map(result => [
          ...[result.engine, result.topology, result.lifetimeMs / 1000, result.checkedReads, result.violations],
          ...[result.naiveReads, result.naiveViolations, formatPercent(result.hitShare), result.writes],
          ...[result.cacheRestarts, result.serverRestarts, result.failed, Math.round(result.seconds)],
        ]),
      },
    ],
    plots: [
      {
        name: 'stale-reads',
        chart: staleReadsChart(CHART_TITLE, results, ({ engine, topology }) => `${engine}: ${topology}`),
      },
    ],
    verdicts: [
      noneIsStale('no session read is older than promised, whichever server answered or was killed', results),
      {
        claim: 'servers were killed during the run, and caches answered reads',
        holds: results.every(result => result.serverRestarts > 0 && result.hitShare > 0),
        detail: `${sum(result => result.serverRestarts)} kills`,
      },
      {
        claim: 'some plain reads through the same caches are stale',
        holds: sum(result => result.naiveViolations) > 0,
        detail: `${sum(result => result.naiveViolations)} of ${sum(result => result.naiveReads)}`,
      },
    ],
  }
}
