/** Computes the figures of the bench from the measurements. */
import type { BenchResult } from '../../harness/bench.js'
import type { Table } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { type Following, WRITES_PER_SECOND } from './following.js'
import type { Spread } from './social-network.js'
import { FAR_MS, NEAR_MS } from './stage.js'
import { READS_PER_WRITE, type RunTimes } from './visits.js'

export interface MeasuredRun extends RunTimes {
  /** How many objects the server served. */
  readonly originReads: number
}

export interface MeasuredRuns {
  readonly runs: readonly MeasuredRun[]
  readonly staleReads: number
  readonly traces: readonly string[]
}

export interface Measured {
  readonly objects: number
  readonly spread: Spread
  readonly cached: MeasuredRuns
  readonly direct: MeasuredRuns
}

export interface ReportOptions {
  readonly measured: readonly Measured[]
  readonly following: Following
  readonly clients: number
}

/** One run with caches, compared with all runs without: those are all alike. */
interface Ratios {
  readonly run: number
  readonly reads: number
  readonly all: number
}

export function reportOf({ measured, following, clients }: ReportOptions): BenchResult {
  const last = measured.map(each => ({ ...each, ...ratiosOf(each).at(-1)! }))
  const popular = last.filter(({ spread }) => spread === 'zipf')
  const staleReads = sum(measured.map(({ cached, direct }) => cached.staleReads + direct.staleReads))
  const visible = [...following.visibleMs].sort(ascending)
  const readable = [...following.readableMs].sort(ascending)
  return {
    summary: {
      speedup: rounded(Math.min(...popular.map(({ reads }) => reads))),
      speedupWithWrites: rounded(Math.min(...popular.map(({ all }) => all))),
      speedupWithWritesBound: READS_PER_WRITE + 1,
      staleReads,
      checkedReads: sum(
        measured.flatMap(({ cached, direct }) => [...cached.runs, ...direct.runs].map(run => run.reads)),
      ),
      originFetchesPerWrite: rounded(fetchesPerWrite(measured)),
      visibleP50Ms: rounded(quantile(visible, 0.5)),
      visibleP99Ms: rounded(quantile(visible, 0.99)),
      readableP50Ms: rounded(quantile(readable, 0.5)),
      readableP99Ms: rounded(quantile(readable, 0.99)),
      sketchBytesPerMinute: following.bytesPerMinute.push.bodies,
      sketchBytesPerMinuteBy: following.bytesPerMinute,
      clients,
      cases: measured.map(each => caseSummary(each)),
    },
    tables: [runsTable(measured), bytesTable(following)],
    notes: notesOf(measured, { staleReads, visible, readable }),
  }
}

function ratiosOf({ cached, direct }: Measured): Ratios[] {
  const readMs = mean(direct.runs.map(perRead))
  const visitMs = mean(direct.runs.map(perVisit))
  return cached.runs.map((run, i) => ({ run: i + 1, reads: readMs / perRead(run), all: visitMs / perVisit(run) }))
}

/**
 * From the last run over the fewest objects: there every object has been read before, so the server is only asked for what was
 * written since.
 */
function fetchesPerWrite(measured: readonly Measured[]): number {
  const fewest = Math.min(...measured.map(({ objects }) => objects))
  const runs = measured.filter(({ objects }) => objects === fewest).map(({ cached }) => cached.runs.at(-1)!)
  return Math.max(...runs.map(({ originReads, writes }) => originReads / writes))
}

function caseSummary(each: Measured) {
  const { objects, spread, cached, direct } = each
  return {
    objects,
    spread,
    staleReads: cached.staleReads + direct.staleReads,
    directReadMs: rounded(perRead(direct.runs[0]!)),
    runs: cached.runs.map((run, i) => ({
      speedup: rounded(ratiosOf(each)[i]!.reads),
      speedupWithWrites: rounded(ratiosOf(each)[i]!.all),
      readMs: rounded(perRead(run)),
      waitedShare: rounded(run.waited / run.reads),
      rememberedShare: rounded(run.remembered / run.reads),
      originFetchesPerWrite: rounded(run.originReads / run.writes),
      processorShare: rounded(run.processorShare),
    })),
  }
}

function runsTable(measured: readonly Measured[]): Table {
  const rows = measured.flatMap(each =>
    ratiosOf(each).map(({ run, reads, all }, i) => {
      const cached = each.cached.runs[i]!
      return [
        ...[each.objects, each.spread, run, rounded(reads), rounded(all), rounded(perRead(cached))],
        ...[
          rounded(perWrite(cached)),
          rounded(perRead(each.direct.runs[0]!)),
          formatPercent(cached.remembered / cached.reads),
        ],
        ...[formatPercent(cached.waited / cached.reads), rounded(cached.originReads / cached.writes)],
        formatPercent(cached.processorShare),
      ]
    }),
  )
  const columns = [
    ...['objects', 'drawn', 'run', 'reads, times faster', 'all, times faster', 'read / ms', 'write / ms'],
    ...['direct read / ms', 'from memory', 'waited for the server', 'fetches per write', "clients' processor"],
  ]
  return { title: `Server ${FAR_MS} ms away, shared cache ${NEAR_MS} ms`, columns, rows }
}

function bytesTable({ bytesPerMinute }: Following): Table {
  return {
    title: `Following ${WRITES_PER_SECOND} writes per second, bytes per client and minute`,
    columns: ['refreshed by', 'the sketch itself', 'on the wire, with headers'],
    rows: Object.entries(bytesPerMinute).map(([refresh, { bodies, onTheLine }]) => [refresh, bodies, onTheLine]),
  }
}

function notesOf(
  measured: readonly Measured[],
  { staleReads, visible, readable }: { staleReads: number; visible: readonly number[]; readable: readonly number[] },
): string[] {
  const bound = READS_PER_WRITE + 1
  return [
    `Stale reads: ${staleReads}.`,
    ...measured.flatMap(({ cached, direct }) => [...cached.traces, ...direct.traces]),
    `speedup compares the time for reads; speedupWithWrites compares everything, and is at most ${bound}: each write takes ` +
      `${FAR_MS} ms with caches or without, and its client waits for it. Both are the smallest value of the last zipf runs.`,
    ...busyNotes(measured),
    `Subscribers learn of a write ${Math.round(quantile(visible, 0.5))} ms (p50) and ` +
      `${Math.round(quantile(visible, 0.99))} ms (p99) after the network delay; a read that then fetches it ` +
      `takes ${Math.round(quantile(readable, 0.5))} and ${Math.round(quantile(readable, 0.99))} ms.`,
  ]
}

/** Above this multiple of the network delay, reads have waited for a processor. */
const BUSY_RATIO = 1.15

function busyNotes(measured: readonly Measured[]): string[] {
  const directMs = Math.max(...measured.flatMap(({ direct }) => direct.runs.map(perRead)))
  if (directMs < FAR_MS * BUSY_RATIO) return []
  return [
    `This machine was busy: a direct read took up to ${Math.round(directMs)} ms, ${FAR_MS} of them on the network. The delay ` +
      'distorts short times most, so the ratios are too low. Measure again when nothing else runs.',
  ]
}

function perRead({ readMs, reads, clients }: MeasuredRun): number {
  return (readMs * clients) / reads
}

function perWrite({ writeMs, writes, clients }: MeasuredRun): number {
  return (writeMs * clients) / writes
}

function perVisit({ totalMs, writes, clients }: MeasuredRun): number {
  return (totalMs * clients) / writes
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function ascending(one: number, other: number): number {
  return one - other
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}
