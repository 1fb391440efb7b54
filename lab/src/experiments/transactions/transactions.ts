/**
 * Transactions by contention: how many attempts are refused, and how many commit, in the classic mode (reads from any cache, the
 * commit detects conflicts), in the coherent mode (the sketch keeps outdated copies away), and with leases (a refused client gets
 * the next turn). Beside them, the same work in PostgreSQL over the same distance, where every statement is a round trip.
 *
 * Time is real; the seed repeats which client works on what.
 */
import { requireCaches } from '../../caches/require-caches.js'
import { requirePostgres } from '../../engines/postgres.js'
import type { Experiment, ExperimentContext, ExperimentResult, Plot, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { rounded, sumOf } from '../orestes/figures.js'
import { CLIENTS, type Contender, type Measured, measure, READS, WRITES } from './contended-work.js'
import { createFreshetContender, type Mode } from './freshet-contender.js'
import { createPostgresContender } from './postgres-contender.js'
import { ROUND_TRIP_MS, type Site, startSite } from './site.js'

export interface Extent {
  /** How many objects the clients share: the fewer, the more conflicts. */
  readonly levels: readonly number[]
  readonly measureMs: number
}

const FULL: Extent = { levels: [12, 50, 200, 2000], measureMs: 20_000 }
const QUICK: Extent = { levels: [12, 2000], measureMs: 4_000 }
const MODES: readonly Mode[] = [
  { name: 'classic', options: { read: 'any' } },
  { name: 'coherent', options: { read: 'session' } },
  { name: 'leased', options: { read: 'session', lease: true } },
]
const SPEEDUP_MIN = 5

export const transactions: Experiment = {
  source: 'Gessert and Bücklers 2012, sections 3.1.4 and 3.9; leases are its future work',
  run: async context => {
    requireCaches(['varnish'])
    requirePostgres()
    return toResult(await measureAll(context, context.quick ? QUICK : FULL))
  },
}

export async function measureAll(
  { random, progress }: Pick<ExperimentContext, 'random' | 'progress'>,
  { levels, measureMs }: Extent,
): Promise<Measured[]> {
  const fillings = MODES.flatMap(mode => levels.map(objects => ({ bucket: bucketOf(mode, objects), objects })))
  const total = levels.length * (MODES.length + 1)
  progress(0, total, 'starting')
  const site = await startSite(fillings)
  const results: Measured[] = []
  const run = async (objects: number, contender: Contender) => {
    progress(results.length, total, `${contender.name}, ${objects} objects`)
    try {
      results.push(await measure({ contender, objects, measureMs, random: random.fork(`${objects}`) }))
    } finally {
      await contender.stop()
    }
  }
  try {
    for (const objects of levels) {
      for (const mode of MODES) {
        await run(objects, await createFreshetContender(site, mode, bucketOf(mode, objects), objects))
      }
      await run(objects, await createPostgresContender(addressOf(site), objects))
    }
    progress(total, total)
    return results
  } finally {
    await site.stop()
  }
}

function bucketOf({ name }: Mode, objects: number): string {
  return `contended/${name}-${objects}`
}

function addressOf({ postgres, farPostgresPort }: Site): Parameters<typeof createPostgresContender>[0] {
  const { user, database, port } = postgres
  return { user, database, port, farPort: farPostgresPort }
}

function toResult(results: readonly Measured[]): ExperimentResult {
  const levels = [...new Set(results.map(({ objects }) => objects))]
  const of = (contender: string, objects: number) =>
    results.find(each => each.contender === contender && each.objects === objects)!
  const most = Math.min(...levels)
  const least = Math.max(...levels)
  const speedup = of('coherent', least).commitsPerSecond / of('PostgreSQL', least).commitsPerSecond
  const leasedGain = of('leased', most).commitsPerSecond / of('coherent', most).commitsPerSecond
  const names = [...MODES.map(({ name }) => name), 'PostgreSQL']
  const abortsOf = (name: string) => levels.map(objects => [objects, rounded(of(name, objects).abortRate, 4)])
  return {
    summary: {
      roundTripMs: ROUND_TRIP_MS,
      speedup: rounded(speedup, 2),
      leasedGain: rounded(leasedGain, 2),
      aborts: Object.fromEntries(names.map(name => [name, Object.fromEntries(abortsOf(name))])),
      lost: sumOf(results.map(({ lost }) => lost)),
    },
    points: results,
    tables: [
      {
        title: `${CLIENTS} clients, ${READS} reads and ${WRITES} writes a transaction, ${ROUND_TRIP_MS} ms to the server and back`,
        columns: ['objects', 'how', 'commits', 'commits / s', 'refused', 'ms a transaction', 'lost'],
        rows: results.map(each => [
          ...[each.objects, each.contender, Math.round(each.commits), rounded(each.commitsPerSecond, 1)],
          ...[formatPercent(each.abortRate), Math.round(each.transactionMs), each.lost],
        ]),
      },
    ],
    plots: plotsOf(levels, names, of),
    verdicts: verdictsOf({ results, speedup, leasedGain, most, least, of }),
  }
}

type Find = (contender: string, objects: number) => Measured

function plotsOf(levels: readonly number[], names: readonly string[], of: Find): Plot[] {
  const categories = levels.map(objects => `${objects} objects`)
  const series = (figure: (measured: Measured) => number) =>
    names.map(name => ({ name, values: levels.map(objects => figure(of(name, objects))) }))
  const subtitle = `${CLIENTS} clients, ${ROUND_TRIP_MS} ms from the server; fewer objects mean more contention`
  return [
    {
      name: 'commits',
      chart: {
        kind: 'bars',
        title: 'Transactions done',
        subtitle,
        y: { name: 'commits a second', min: 0 },
        categories,
        series: series(({ commitsPerSecond }) => commitsPerSecond),
      },
    },
    {
      name: 'refused',
      chart: {
        kind: 'bars',
        title: 'Attempts refused',
        subtitle,
        y: { name: 'share of the attempts', percent: true, min: 0 },
        categories,
        series: series(({ abortRate }) => abortRate),
      },
    },
  ]
}

interface Verdicts {
  readonly results: readonly Measured[]
  readonly speedup: number
  readonly leasedGain: number
  readonly most: number
  readonly least: number
  readonly of: Find
}

function verdictsOf({ results, speedup, leasedGain, most, least, of }: Verdicts): Verdict[] {
  const rate = (name: string, objects: number) => rounded(of(name, objects).commitsPerSecond, 1)
  const refused = (name: string, objects: number) => formatPercent(of(name, objects).abortRate)
  return [
    {
      claim: `coherent transactions commit at least ${SPEEDUP_MIN} times as often as PostgreSQL over the same distance`,
      holds: speedup >= SPEEDUP_MIN,
      detail: `${rounded(speedup, 1)} times: ${rate('coherent', least)} and ${rate('PostgreSQL', least)} commits a second on ${least} objects`,
    },
    {
      claim: 'where all clients share the same objects, leases raise the commit rate, and fewer attempts are refused',
      holds: leasedGain > 1 && of('leased', most).abortRate < of('coherent', most).abortRate,
      detail: `${rounded(leasedGain, 2)} times: ${rate('leased', most)} and ${rate('coherent', most)} commits a second on ${most} objects, ${refused('leased', most)} and ${refused('coherent', most)} refused`,
    },
    {
      claim: 'the sketch saves attempts that would have failed for outdated reads',
      holds: of('coherent', least).abortRate < of('classic', least).abortRate,
      detail: `${refused('coherent', least)} against ${refused('classic', least)} refused on ${least} objects`,
    },
    {
      claim: 'no update is lost',
      holds: results.every(({ lost }) => lost === 0),
      detail: `${sumOf(results.map(({ lost }) => lost))} of ${sumOf(results.map(({ commits }) => Math.round(commits) * WRITES))}`,
    },
  ]
}
