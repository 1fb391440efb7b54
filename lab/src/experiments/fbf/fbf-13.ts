/**
 * Adaptation: a forgetful filter that keeps its false-positive rate below a target while the load varies, starting from
 * 3 filters and t = 11 s.
 *
 * The paper plots one run and names neither its load nor its target; ours are in adaptive-run.ts. The experiment checks two
 * things that the paper does not show: the rate is also measured, not only estimated, and no id younger than the retry
 * window is ever denied. The paper's own algorithms, run to the letter beside ours, do deny such ids.
 *
 * Then the same load goes to a real server whose memory of operations is such a filter; some of it is sent twice.
 */

import { setTimeout as delay } from 'node:timers/promises'
import type { LinesChart } from '../../harness/chart.js'
import type {
  Experiment,
  ExperimentContext,
  ExperimentResult,
  Progress,
  Table,
  Verdict,
} from '../../harness/experiment.js'
import type { Random } from '../../harness/random.js'
import { formatPercent } from '../../harness/table.js'
import {
  type AdaptiveRun,
  type LiteralRun,
  LOAD,
  runAdaptive,
  runLiteral,
  SAMPLE_MS,
  type Sample,
  SIZE,
  START,
  TARGET_RATE,
  WINDOW_MS,
} from './adaptive-run.js'
import type { Arrival } from './retried-counter.js'
import { countServed, type ServedCount, servedRate, startCompactServer } from './served-counter.js'
import { runLoad } from './varying-load.js'

const ADAPT_EVERY_MS = 1000
const PAPER_STATES = 'paper: 3 filters, 11 s; at 16 s 6, 10 s; at 19 s 4, 13 s; at 28 s 8, 12 s'

/** Six filters that reach back slightly further than the window, to show algorithm 2 by itself. */
const FIXED = { pastFilters: 4, refreshMs: 4200 }

/** How many times faster than real time the load runs. */
const SPEED = { full: 1, quick: 8 }
const SERVED_RETRY_SHARE = 0.2

interface ServedRun {
  readonly speed: number
  readonly counted: ServedCount
  readonly rates: readonly { readonly second: number; readonly rate: number }[]
}

interface LiteralRuns {
  readonly adaptive: LiteralRun
  readonly printedCheck: LiteralRun
  readonly correctedCheck: LiteralRun
}

export const fbf13: Experiment = {
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 13',
  async run({ quick, random, progress }: ExperimentContext) {
    const probes = quick ? 2000 : 40_000
    const run = runAdaptive({ seed: BigInt(random.uint32()), probes, progress })
    const literal = {
      adaptive: runLiteral({ ...START, oldestAlone: true, targetRate: TARGET_RATE }),
      printedCheck: runLiteral({ ...FIXED, oldestAlone: false }),
      correctedCheck: runLiteral({ ...FIXED, oldestAlone: true }),
    }
    return toResult(run, literal, probes, await runServed(SPEED[quick ? 'quick' : 'full'], random, progress))
  },
}

async function runServed(speed: number, random: Random, progress: Progress): Promise<ServedRun> {
  const windowMs = WINDOW_MS / speed
  const adaptation = {
    ...{ falsePositiveRateMax: TARGET_RATE, windowMs },
    ...{ everyMs: ADAPT_EVERY_MS / speed, stepMs: ADAPT_EVERY_MS / speed },
  }
  const forgetful = { ...SIZE, pastFilters: START.pastFilters, refreshMs: START.refreshMs / speed, adaptation }
  const server = await startCompactServer({ retentionMs: windowMs, falsePositiveRateMax: TARGET_RATE, forgetful })
  const all: Arrival[] = []
  runLoad(LOAD, SAMPLE_MS, {
    onOperation: (id, atMs) => {
      all.push({ id, atMs: atMs / speed })
      // Early enough to arrive before the window ends.
      const laterMs = 0.8 * random.float() * WINDOW_MS
      if (random.float() < SERVED_RETRY_SHARE) all.push({ id, atMs: (atMs + laterMs) / speed })
    },
    onSample: () => {},
  })
  const rates: { second: number; rate: number }[] = []
  const startMs = performance.now()
  const secondNow = () => ((performance.now() - startMs) * speed) / 1000
  try {
    const arrivals = all.sort((a, b) => a.atMs - b.atMs)
    const counting = countServed(server.url, 'a', arrivals, windowMs)
    let isOver = false
    const end = () => {
      isOver = true
    }
    counting.then(end, end)
    while (!isOver) {
      rates.push({ second: secondNow(), rate: await servedRate(server.url) })
      progress(Math.min(secondNow(), LOAD.at(-1)!.second), LOAD.at(-1)!.second, 'a real server')
      await delay(SAMPLE_MS / speed)
    }
    return { speed, counted: await counting, rates }
  } finally {
    await server.stop()
  }
}

function toResult(run: AdaptiveRun, literal: LiteralRuns, probes: number, served: ServedRun): ExperimentResult {
  const { samples } = run
  // Chance can raise a single measured sample, so it gets three standard errors.
  const measuredMax = TARGET_RATE + 3 * Math.sqrt(TARGET_RATE / probes)
  return {
    summary: {
      targetRate: TARGET_RATE,
      estimatedMax: Math.max(...samples.map(sample => sample.estimated)),
      measuredMax: Math.max(...samples.map(sample => sample.measured)),
      filtersMax: Math.max(...samples.map(sample => sample.filters)),
      denied: run.denied,
      deniedByPaperAdaptation: literal.adaptive.denied,
      deniedByPaperCheck: literal.printedCheck.denied,
      servedRateMax: Math.max(...served.rates.map(({ rate }) => rate)),
      servedTwice: served.counted.twiceInTime,
      servedNever: served.counted.underCount,
    },
    points: samples,
    tables: [changesTable(samples), denialsTable(run, literal), servedTable(served)],
    plots: [
      { name: 'rate-over-time', chart: rateChart(samples) },
      { name: 'filters-over-time', chart: filtersChart(samples) },
      { name: 'served-rate-over-time', chart: servedChart(served) },
    ],
    verdicts: [
      staysBelow(
        'estimated',
        longestAboveMs(samples, sample => sample.estimated > TARGET_RATE),
      ),
      staysBelow(
        'measured',
        longestAboveMs(samples, sample => sample.measured > measuredMax),
      ),
      adapts(samples),
      keepsWindow(samples),
      deniesNone(run, literal),
      departuresMatter(literal),
      servedStaysBelow(served),
      servedCountsOnce(served),
    ],
  }
}

/** One line for every second in which the number of filters or t changed. */
function changesTable(samples: readonly Sample[]): Table {
  const rows = samples
    .filter((sample, i) => {
      const before = samples[i - 4]
      const isWhole = sample.second % 1 === 0
      return isWhole && (before?.pastFilters !== sample.pastFilters || before?.refreshMs !== sample.refreshMs)
    })
    .map(sample => [
      sample.second,
      Math.round(sample.perSecond),
      formatPercent(sample.estimated),
      formatPercent(sample.measured),
      sample.pastFilters + 2,
      sample.filters,
      sample.refreshMs / 1000,
    ])
  const columns = ['second', 'op/s', 'rate estimated', 'measured', 'filters allowed', 'in use', 't in s']
  return { title: `Changes, target ${formatPercent(TARGET_RATE)} (${PAPER_STATES})`, columns, rows }
}

function denialsTable(run: AdaptiveRun, { adaptive, printedCheck, correctedCheck }: LiteralRuns): Table {
  const literalRow = (name: string, { operations, checks, denied, filtersMax, rateMax }: LiteralRun) =>
    [name, operations, checks, denied, filtersMax, formatPercent(rateMax)] as const
  const filtersMax = Math.max(...run.samples.map(sample => sample.filters))
  const rateMax = formatPercent(Math.max(...run.samples.map(sample => sample.estimated)))
  return {
    title: `Ids denied within the retry window of ${WINDOW_MS / 1000} s, with exact sets instead of Bloom filters`,
    columns: ['algorithm', 'ids', 'checks', 'ids denied', 'most filters', 'highest rate'],
    rows: [
      ['ours, adaptive', run.operations, run.checks, run.denied, filtersMax, rateMax],
      literalRow('paper, adaptive (algorithm 3)', adaptive),
      literalRow('paper, 6 filters, t = 4.2 s, check as printed (algorithm 2)', printedCheck),
      literalRow('the same, with the oldest filter checked alone', correctedCheck),
    ],
  }
}

function rateChart(samples: readonly Sample[]): LinesChart {
  return chartBesideTarget({
    title: 'False-positive rate under a varying load',
    subtitle: 'adaptive forgetful filter, m = 6250, k = 5, from 3 filters and t = 11 s',
    x: { name: 'seconds', min: 0 },
    series: [
      { name: 'estimated', style: 'solid', points: samples.map(sample => [sample.second, sample.estimated]) },
      { name: 'measured', style: 'solid', points: samples.map(sample => [sample.second, sample.measured]) },
    ],
  })
}

function chartBesideTarget(chart: Pick<LinesChart, 'title' | 'subtitle' | 'x' | 'series'>): LinesChart {
  const y = { name: 'false-positive rate', percent: true, min: 0, max: 1.2 * TARGET_RATE }
  return { kind: 'lines', ...chart, y, references: [{ name: 'target', at: TARGET_RATE }] }
}

function filtersChart(samples: readonly Sample[]): LinesChart {
  const line = (name: string, value: (sample: Sample) => number) => ({
    name,
    style: 'solid' as const,
    points: samples.map(sample => [sample.second, value(sample)] as const),
  })
  return {
    kind: 'lines',
    title: 'What adaptation does',
    subtitle: 'adaptive forgetful filter, m = 6250, k = 5, from 3 filters and t = 11 s',
    x: { name: 'seconds', min: 0 },
    y: { name: 'filters; seconds; 10 op/s', min: 0 },
    series: [
      line('filters in use', sample => sample.filters),
      line('refresh period t, seconds', sample => sample.refreshMs / 1000),
      line('load, 10 op/s', sample => sample.perSecond / 10),
    ],
  }
}

function longestAboveMs(samples: readonly Sample[], isAbove: (sample: Sample) => boolean): number {
  let longest = 0
  let current = 0
  for (const sample of samples) {
    current = isAbove(sample) ? current + SAMPLE_MS : 0
    longest = Math.max(longest, current)
  }
  return longest
}

function staysBelow(what: 'estimated' | 'measured', longestMs: number): Verdict {
  return {
    claim: `the ${what} rate is never above its target for longer than one adaptation period`,
    holds: longestMs <= ADAPT_EVERY_MS,
    detail: longestMs === 0 ? 'never above the target' : `at most ${longestMs} ms at a time`,
  }
}

function adapts(samples: readonly Sample[]): Verdict {
  const most = Math.max(...samples.map(sample => sample.filters))
  const last = samples.at(-1)!
  return {
    claim: 'filters are added under load and removed afterwards',
    holds: most > 3 && last.filters < most / 2,
    detail: `from 3 to ${most} and back to ${last.filters}`,
  }
}

function keepsWindow(samples: readonly Sample[]): Verdict {
  const reachMs = Math.min(...samples.map(({ pastFilters, refreshMs }) => (pastFilters + 1) * refreshMs))
  return {
    claim: '(N + 1) t stays above the retry window',
    holds: reachMs > WINDOW_MS,
    detail: `${reachMs / 1000} s at least, window ${WINDOW_MS / 1000} s`,
  }
}

function deniesNone(run: AdaptiveRun, literal: LiteralRuns): Verdict {
  return {
    claim: 'no id younger than the retry window is ever denied',
    holds: run.denied === 0,
    detail:
      `${run.denied} of ${run.operations} ids in ${run.checks} checks; the paper's algorithm 3 denies ` +
      `${literal.adaptive.denied}, its algorithm 2 as printed ${literal.printedCheck.denied}`,
  }
}

function departuresMatter({ adaptive, printedCheck, correctedCheck }: LiteralRuns): Verdict {
  return {
    claim: "the paper's algorithms, as printed, deny ids that they must know",
    holds: adaptive.denied > 0 && printedCheck.denied > 0 && correctedCheck.denied === 0,
    detail: 'empty filters behind the oldest leave its ids without a second match; so does not checking it alone',
  }
}

function servedTable({ speed, counted, rates }: ServedRun): Table {
  const { operations, value, overCount, underCount } = counted
  const rateMax = formatPercent(Math.max(...rates.map(({ rate }) => rate)))
  return {
    title: `A real server with this filter, ${speed === 1 ? 'in real time' : `${speed} times as fast`}`,
    columns: ['operations', 'counter', 'counted twice', 'not counted', 'highest rate'],
    rows: [[operations, value, overCount, underCount, rateMax]],
  }
}

function servedChart({ rates }: ServedRun): LinesChart {
  return chartBesideTarget({
    title: 'False-positive rate that a real server reports, under the same load',
    subtitle: 'GET /idempotency, compact memory with the same filter',
    x: { name: 'seconds of the load', min: 0 },
    series: [{ name: 'reported', style: 'solid', points: rates.map(({ second, rate }) => [second, rate]) }],
  })
}

function servedStaysBelow({ rates }: ServedRun): Verdict {
  let longest = 0
  let since: number | undefined
  for (const { second, rate } of rates) {
    since = rate > TARGET_RATE ? (since ?? second) : undefined
    if (since !== undefined) longest = Math.max(longest, second - since)
  }
  return {
    claim: "a real server's rate is above its target for at most one adaptation period",
    holds: longest <= ADAPT_EVERY_MS / 1000,
    detail: `for ${longest.toFixed(2)} s of the load at most, in ${rates.length} samples`,
  }
}

/** The server may take a new operation for an old one, as often as the rate says; three standard errors are allowed. */
function servedCountsOnce({ counted }: ServedRun): Verdict {
  const { operations, overCount, underCount, twiceInTime, value } = counted
  const neverMax = operations * TARGET_RATE + 3 * Math.sqrt(operations * TARGET_RATE)
  return {
    claim: 'a real server counts no retry twice, and loses no more operations than the rate allows',
    holds: twiceInTime === 0 && underCount <= neverMax && value === operations + overCount - underCount,
    detail: `${twiceInTime} of ${operations} counted twice, ${underCount} never (${formatPercent(underCount / operations)})`,
  }
}
