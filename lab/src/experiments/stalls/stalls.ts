/**
 * A stall is a fault as ordinary as a kill: a machine swaps, a hypervisor pauses it, a laptop sleeps. Here, servers, backends of
 * the engine, the connections between them, and the readers stall at random. Every read of every session is checked against its
 * promise.
 */
import { withCaches } from '../../caches/require-caches.js'
import type { Experiment, ExperimentContext, ExperimentResult } from '../../harness/experiment.js'
import { runStalls, type StallsResult } from '../../stall-load/run-stalls.js'
import type { StalledEngine } from '../../stall-load/stall-fleet.js'

interface Size {
  readonly engines: readonly StalledEngine[]
  readonly reads: number
  readonly stalls: number
  readonly msMax: number
  readonly stallMsMax: number
  readonly readPauseMs: number
}

const FULL: Size = {
  engines: ['embedded', 'PostgreSQL', 'MariaDB', 'Redis', 'ring', 'Cassandra', 'SQLite'],
  ...{ reads: 100_000, stalls: 100, msMax: 3_600_000, stallMsMax: 10_000, readPauseMs: 0 },
}
/** The run ends after enough stalls: more reads would not make it shorter. */
const QUICK: Size = {
  engines: ['embedded', 'PostgreSQL', 'ring'],
  ...{ reads: 200, stalls: 2, msMax: 60_000, stallMsMax: 1500, readPauseMs: 40 },
}

export const stalls: Experiment = {
  source: 'the promise "current" (docs/concepts/promises.md), with clocks that stop and catch up',
  run: withCaches(['varnish'], async context =>
    toResult(await measureAll(context), context.quick ? QUICK.reads : FULL.reads),
  ),
}

async function measureAll({ quick, random, progress }: ExperimentContext): Promise<StallsResult[]> {
  const { engines, ...size } = quick ? QUICK : FULL
  const results: StallsResult[] = []
  for (const [i, engine] of engines.entries()) {
    const onProgress = (reads: number) =>
      progress(i * size.reads + Math.min(reads, size.reads), engines.length * size.reads, engine)
    results.push(await runStalls({ ...size, engine, random: random.fork(engine), onProgress }))
  }
  return results
}

function toResult(results: readonly StallsResult[], reads: number): ExperimentResult {
  const sum = (of: (result: StallsResult) => number) => results.reduce((total, result) => total + of(result), 0)
  const total = {
    reads: sum(result => result.reads),
    stale: sum(result => result.stale),
    stalls: sum(result => result.stalls),
  }
  return {
    summary: {
      ...total,
      engines: Object.fromEntries(
        results.map(({ engine, reads, stale, stalls }) => [engine, { reads, stale, stalls }]),
      ),
    },
    points: results,
    plots: [],
    tables: [
      {
        title: 'Two servers over one engine behind Varnish, all of them stalling now and then',
        columns: [
          ...[
            'engine',
            'checked reads',
            'stale',
            'stalls',
            'of servers',
            'of backends',
            'of connections',
            'of readers',
          ],
          ...['writes', 'no answer', 's'],
        ],
        rows: results.map(({ stallsBy, ...result }) => [
          ...[result.engine, result.reads, result.stale, result.stalls],
          ...[stallsBy.server, stallsBy.backend, stallsBy.connection, stallsBy.client],
          ...[result.writes, result.failed, Math.round(result.seconds)],
        ]),
      },
    ],
    verdicts: [
      {
        claim: 'no session read is older than promised, whatever stalls and resumes',
        holds: total.stale === 0,
        detail: [`${total.stale} of ${total.reads} reads`, ...results.flatMap(({ traces }) => traces)].join('\n'),
      },
      {
        claim: `over each engine, at least ${reads} reads were checked, and something stalled`,
        holds: results.every(result => result.reads >= reads && result.stalls > 0),
        detail: results.map(result => `${result.engine}: ${result.reads} reads, ${result.stalls} stalls`).join('; '),
      },
    ],
  }
}
