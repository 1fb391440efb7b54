/** Turns the measurements into tables, ratios and words. */
import type { BenchResult } from '../../harness/bench.js'
import type { Table } from '../../harness/experiment.js'
import { fastest, type Standing, speedRatio } from '../../harness/side-by-side.js'
import { formatPercent } from '../../harness/table.js'
import { leastBitsPerEntry } from './contender.js'
import { type FilterDetails, MEASURES, type Measure } from './filter-worker.js'
import { OURS } from './portable-contenders.js'

export const MOST_USED_PEER = 'bloom-filters'
const RATE_FACTOR_MAX = 2

export interface Outcome {
  readonly standings: readonly Standing<Measure>[]
  readonly details: ReadonlyMap<string, FilterDetails>
}

export interface BloomFindings {
  readonly node: Outcome
  readonly browser: Outcome
  readonly entries: number
  readonly rate: number
  readonly theoreticalRate: number
}

export function reportBloom({ node, browser, entries, rate, theoreticalRate }: BloomFindings): BenchResult {
  const ours = node.details.get(OURS)!
  const best = bestPeers(node, rate)
  const bestInBrowser = bestPeers(browser, rate)
  return {
    summary: {
      entries,
      ...ratios(node, best, 'BestPeer'),
      ...ratios(node, sameForAll(MOST_USED_PEER), 'BloomFilters'),
      measuredRate: ours.measuredRate,
      theoreticalRate,
      bitsPerEntry: ours.bitsPerEntry,
      leastBitsPerEntry: leastBitsPerEntry(rate),
      bestPeers: best,
      browser: {
        ...ratios(browser, bestInBrowser, 'BestPeer'),
        bestPeers: bestInBrowser,
        contenders: listContenders(browser, rate),
      },
      contenders: listContenders(node, rate),
    },
    tables: [
      speedTable('In Node', node, rate),
      accuracyTable(node, rate, theoreticalRate),
      speedTable('In Chromium', browser, rate),
    ],
    notes: [
      inWords('In Node', node, best),
      inWords('In Chromium', browser, bestInBrowser),
      ...peersNotCounted(node, rate),
    ],
  }
}

/** The names of the peers that count: their rate is near the target, and they lose no keys. */
function fairPeers({ details }: Outcome, rate: number): string[] {
  const isFair = ({ measuredRate, falseNegatives }: FilterDetails) =>
    measuredRate <= RATE_FACTOR_MAX * rate && falseNegatives === 0
  return [...details].filter(([name, own]) => name !== OURS && isFair(own)).map(([name]) => name)
}

type PeerPerMeasure = Readonly<Record<Measure, string>>

function bestPeers(outcome: Outcome, rate: number): PeerPerMeasure {
  const fair = fairPeers(outcome, rate)
  const best = MEASURES.map(measure => [measure, fastest(outcome.standings, fair, measure)])
  return Object.fromEntries(best) as PeerPerMeasure
}

function sameForAll(peer: string): PeerPerMeasure {
  return { add: peer, hit: peer, miss: peer }
}

/** addRatioToBestPeer and so on; above 1, ours is faster. */
function ratios({ standings }: Outcome, peers: PeerPerMeasure, suffix: string): Record<string, number> {
  return Object.fromEntries(
    MEASURES.map(measure => [
      `${measure}RatioTo${suffix}`,
      Number(speedRatio(standings, OURS, peers[measure], measure).toPrecision(4)),
    ]),
  )
}

function listContenders({ standings, details }: Outcome, rate: number): object[] {
  return standings.map(({ name, medians }) => ({
    name,
    nanoseconds: medians,
    ...details.get(name)!,
    countsAsPeer: name !== OURS && fairPeers({ standings, details }, rate).includes(name),
  }))
}

function speedTable(title: string, outcome: Outcome, rate: number): Table {
  const { standings, details } = outcome
  const fair = fairPeers(outcome, rate)
  const ranked = [...standings].sort((a, b) => a.medians.hit - b.medians.hit)
  const times = (name: string, measure: Measure) => formatRatio(speedRatio(standings, OURS, name, measure))
  return {
    title: `${title}: how many times faster ours is; in brackets, nanoseconds per key`,
    columns: ['filter', 'keys', ...MEASURES.flatMap(measure => [measure, '(ns)']), 'counts'],
    rows: ranked.map(({ name, medians }) => [
      name,
      details.get(name)!.entries,
      ...MEASURES.flatMap(measure => [times(name, measure), `(${medians[measure].toFixed(0)})`]),
      name === OURS ? 'ours' : fair.includes(name) ? 'yes' : 'no',
    ]),
  }
}

function accuracyTable({ details }: Outcome, rate: number, theoreticalRate: number): Table {
  return {
    title: `Accuracy at a target of ${formatPercent(rate)}; ours should have ${formatPercent(theoreticalRate)}`,
    columns: ['filter', 'measured rate', 'bits per entry', 'above the least', 'lost keys'],
    rows: [...details].map(([name, { measuredRate, bitsPerEntry, falseNegatives }]) => [
      name,
      formatPercent(measuredRate),
      Number(bitsPerEntry.toFixed(3)),
      `${Math.round(1000 * (bitsPerEntry / leastBitsPerEntry(rate) - 1)) / 10 || 0}%`,
      falseNegatives,
    ]),
  }
}

function inWords(place: string, { standings }: Outcome, best: PeerPerMeasure): string {
  const clauses = MEASURES.map(measure => {
    const ratio = speedRatio(standings, OURS, best[measure], measure)
    return `${measure} ${formatRatio(ratio)} (${best[measure]})`
  })
  return `${place}, speed compared with the best peer: ${clauses.join(', ')}.`
}

function peersNotCounted(outcome: Outcome, rate: number): string[] {
  const fair = fairPeers(outcome, rate)
  const unfair = [...outcome.details].filter(([name]) => name !== OURS && !fair.includes(name))
  return unfair.map(([name, { measuredRate, falseNegatives }]) => {
    const lost = falseNegatives > 0 ? `, and which loses ${falseNegatives} keys` : ''
    return `Not counted as a peer: ${name}, whose rate is ${formatPercent(measuredRate)} instead of ${formatPercent(rate)}${lost}.`
  })
}

function formatRatio(ratio: number): string {
  return `${ratio < 100 ? ratio.toFixed(2) : ratio.toFixed(0)}×`
}
