/**
 * What readers see through a tree of caches in the simulator, with three ways of reading:
 * - plain: as the web does;
 * - revalidate: the thesis, 3.8. A read revalidates what the set of changes names;
 * - freshet: a read requests what changed at position b as `?at=b`.
 *
 * Shared caches are of two kinds. Some ignore a request to revalidate, as Varnish and nginx do. Some honour it, but join it
 * to an older request under way, as Squid with collapsed forwarding does. Both kinds serve copies past their expiry and may
 * return to an older copy.
 *
 * Then freshet alone, behind caches with two or three faults each, drawn at random: they drop queries, remove positions, keep
 * heads, hide ages, override lifetimes. Behind these, a read is correct, or it fails with CACHE_UNTRUSTWORTHY.
 */

import { type CacheBehaviour, drawFaults, MIXES, type Mix, type Strategy } from '../../coherence-simulator/mix.js'
import { type SimulationResult, simulate } from '../../coherence-simulator/simulate.js'
import type { Experiment, ExperimentContext, ExperimentResult, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'

const STRATEGIES: readonly Strategy[] = ['plain', 'revalidate', 'freshet']
const KINDS = ['ignoring revalidations', 'honouring them'] as const

interface Point {
  readonly caches: (typeof KINDS)[number]
  readonly strategy: Strategy
  readonly reads: number
  readonly staleReads: number
  readonly hitShare: number
  readonly originReadsPerWrite: number
  readonly refused: number
}

/** Freshet behind caches with several faults each. */
interface FaultyPoint {
  readonly seed: number
  readonly reads: number
  /** Answers that broke any of the promises. */
  readonly violations: number
  /** Reads that failed with CACHE_UNTRUSTWORTHY. */
  readonly refused: number
  readonly trace: string | undefined
}

const FAULTY_READS_MIN = 1_000_000
const FAULTY_MS = 200_000

export const coherenceSimulated: Experiment = {
  source: 'Gessert and Bücklers 2012, section 3.8, and the measured behaviour of Varnish, nginx and Squid',
  run: async context => toResult(measureAll(context), measureFaulty(context)),
}

function measureAll({ quick, seed, progress }: ExperimentContext): Point[] {
  const points: Point[] = []
  for (const caches of KINDS) {
    for (const strategy of STRATEGIES) {
      progress(points.length, KINDS.length * STRATEGIES.length, `${strategy}, caches ${caches}`)
      const mix = mixOf(caches, quick ? 60_000 : 600_000)
      points.push({ caches, strategy, ...figuresOf(simulate({ mix, seed, strategy })) })
    }
  }
  return points
}

function measureFaulty({ quick, seed, progress }: ExperimentContext): FaultyPoint[] {
  const readsMin = quick ? 50_000 : FAULTY_READS_MIN
  const points: FaultyPoint[] = []
  for (let reads = 0, drawn = seed; reads < readsMin; drawn++) {
    progress(Math.min(reads, readsMin), readsMin, 'freshet, caches with several faults each')
    const result = simulate({ mix: drawFaults(drawn, quick ? FAULTY_MS / 4 : FAULTY_MS), seed: drawn })
    const { violations, untrustworthy: refused, trace } = result
    points.push({ seed: drawn, reads: result.reads, violations, refused, trace })
    reads += result.reads
  }
  return points
}

function mixOf(caches: Point['caches'], durationMs: number): Mix {
  const behaviour: Partial<CacheBehaviour> = { ignoresReload: caches === 'ignoring revalidations' }
  const withBehaviour = (cache: CacheBehaviour) => ({ ...cache, ...behaviour })
  const { forward, reverse, ...mix } = MIXES.worst
  return { ...mix, forward: forward.map(withBehaviour), reverse: reverse.map(withBehaviour), durationMs }
}

function figuresOf({ reads, originReads, writes, refused, violationsBy }: SimulationResult) {
  return {
    reads,
    staleReads: violationsBy.get('staleness') ?? 0,
    hitShare: 1 - originReads / reads,
    originReadsPerWrite: originReads / writes,
    refused,
  }
}

function toResult(points: readonly Point[], faulty: readonly FaultyPoint[]): ExperimentResult {
  const rows = points.map(point => [
    point.caches,
    point.strategy,
    point.reads,
    point.staleReads,
    formatPercent(point.staleReads / point.reads),
    formatPercent(point.hitShare),
    Number(point.originReadsPerWrite.toFixed(1)),
    point.refused,
  ])
  const columns = ['caches', 'reads are', 'reads', 'stale', 'share', 'from caches', 'origin reads / write', 'refused']
  return {
    summary: { reads: points.reduce((sum, point) => sum + point.reads, 0), ...sumsOf(faulty) },
    points: [...points, ...faulty],
    tables: [
      { title: 'Reads through three layers of caches', columns, rows },
      {
        title: 'Freshet, behind caches with two or three faults each',
        columns: ['drawn from', 'reads', 'broke a promise', 'refused'],
        rows: faulty.map(({ seed, reads, violations, refused }) => [seed, reads, violations, refused]),
      },
    ],
    plots: [{ name: 'stale-reads', chart: staleChart(points) }],
    verdicts: [...verdictsOf(points), verdictOnFaulty(faulty)],
  }
}

function sumsOf(faulty: readonly FaultyPoint[]) {
  const sum = (count: (point: FaultyPoint) => number) => faulty.reduce((total, point) => total + count(point), 0)
  return {
    faultyReads: sum(({ reads }) => reads),
    faultyViolations: sum(({ violations }) => violations),
    faultyRefused: sum(({ refused }) => refused),
  }
}

function verdictOnFaulty(faulty: readonly FaultyPoint[]): Verdict {
  const { faultyReads, faultyViolations, faultyRefused } = sumsOf(faulty)
  const trace = faulty.find(point => point.trace !== undefined)?.trace
  return {
    claim: 'behind caches with several faults at once, a read keeps every promise or is refused',
    holds: faultyViolations === 0 && faultyRefused > 0,
    detail: `${faultyViolations} of ${faultyReads} broke one, ${faultyRefused} were refused${trace ? `\n${trace}` : ''}`,
  }
}

function staleChart(points: readonly Point[]): ExperimentResult['plots'][number]['chart'] {
  return {
    kind: 'bars',
    title: 'Stale reads by kind of read',
    subtitle: 'a read is stale if it misses a commit older than its mode allows',
    y: { name: 'share of all reads', percent: true, min: 0 },
    categories: KINDS.map(kind => `caches ${kind}`),
    series: STRATEGIES.map(strategy => ({
      name: strategy,
      values: KINDS.map(kind => {
        const { staleReads, reads } = pointOf(points, kind, strategy)
        return staleReads / reads
      }),
    })),
  }
}

function verdictsOf(points: readonly Point[]): Verdict[] {
  const freshet = points.filter(({ strategy }) => strategy === 'freshet')
  const ignored = pointOf(points, 'ignoring revalidations', 'revalidate')
  const hits = freshet.map(({ hitShare }) => formatPercent(hitShare)).join(' and ')
  return [
    {
      claim: 'no freshet read is stale, whatever the caches do',
      holds: freshet.every(({ staleReads }) => staleReads === 0),
      detail: `0 of ${freshet.reduce((sum, { reads }) => sum + reads, 0)} expected, ${freshet.map(({ staleReads }) => staleReads).join(' and ')} found`,
    },
    {
      claim: 'revalidating what changed does not help through caches that ignore revalidation',
      holds: ignored.staleReads > 0.01 * ignored.reads,
      detail: `${formatPercent(ignored.staleReads / ignored.reads)} of the reads are stale`,
    },
    {
      claim: 'caches answer most freshet reads',
      holds: freshet.every(({ hitShare }) => hitShare > 0.6),
      detail: `${hits} of the reads`,
    },
  ]
}

function pointOf(points: readonly Point[], caches: Point['caches'], strategy: Strategy): Point {
  return points.find(point => point.caches === caches && point.strategy === strategy)!
}
