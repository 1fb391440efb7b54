/** How experiments report reads that were older than promised: the verdicts, and the chart of plain reads and sessions. */
import type { BarsChart } from '../harness/chart.js'
import type { Cell, Verdict } from '../harness/experiment.js'
import { sumOf } from '../harness/sum-of.js'
import { formatPercent } from '../harness/table.js'

export interface CheckedReads {
  readonly topology: string
  readonly lifetimeMs: number
  readonly checkedReads: number
  readonly violations: number
  /** The first violations, with what was read when. */
  readonly traces: readonly string[]
  /** Reads without a session, through the same caches. */
  readonly naiveReads: number
  readonly naiveViolations: number
}

export const CHECKED_COLUMNS: readonly string[] = [
  ...['through', 'lifetime / s', 'checked reads', 'violations', 'plain reads', 'stale', 'share'],
]

export function checkedCells(result: CheckedReads): readonly Cell[] {
  return [
    ...[result.topology, result.lifetimeMs / 1000, result.checkedReads, result.violations],
    ...[result.naiveReads, result.naiveViolations, formatPercent(plainShare(result))],
  ]
}

export function noneIsStale(claim: string, results: readonly CheckedReads[]): Verdict {
  const violations = sumOf(results, result => result.violations)
  const reads = sumOf(results, ({ checkedReads }) => checkedReads)
  const detail = [`${violations} of ${reads} reads`, ...results.flatMap(({ traces }) => traces)].join('\n')
  return { claim, holds: violations === 0, detail }
}

/** `whose`: the end of the detail. */
export function plainReadsAreStale(claim: string, results: readonly CheckedReads[], whose: string): Verdict {
  const shares = results.map(plainShare)
  return { claim, holds: shares.every(share => share > 0), detail: `${rangeOf(shares)} of ${whose}` }
}

export function rangeOf(shares: readonly number[]): string {
  return `${formatPercent(Math.min(...shares))} to ${formatPercent(Math.max(...shares))}`
}

/** A pair of bars for each name. Results with the same name are added up. */
export function staleReadsChart<Result extends CheckedReads>(
  title: string,
  results: readonly Result[],
  nameOf: (result: Result) => string,
): BarsChart {
  const names = [...new Set(results.map(nameOf))]
  const mean = (share: (result: CheckedReads) => number) =>
    names.map(name => {
      const own = results.filter(result => nameOf(result) === name)
      return sumOf(own, share) / own.length
    })
  return {
    kind: 'bars',
    title,
    subtitle: 'a read is stale if it misses a write acknowledged longer ago than its mode allows, or goes back',
    y: { name: 'share of the reads', percent: true, min: 0 },
    categories: names,
    series: [
      { name: 'plain reads', values: mean(plainShare) },
      { name: 'sessions', values: mean(({ violations, checkedReads }) => violations / checkedReads) },
    ],
  }
}

function plainShare({ naiveViolations, naiveReads }: CheckedReads): number {
  return naiveViolations / naiveReads
}
