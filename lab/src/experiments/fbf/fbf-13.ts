/**
 * Adaptation: a forgetful filter that keeps its false-positive rate below a target while the load varies, starting from
 * 3 filters and t = 11 s.
 *
 * The paper plots one run and names neither its load nor its target; ours is in adaptive-run.ts. Two things are checked
 * that the paper does not show: the rate is also measured, not only estimated, and no id younger than the retry window is
 * ever denied. The paper's own algorithms, run to the letter beside ours, do deny such ids.
 */
import type { LinesChart } from '../../harness/chart.js'
import type { Experiment, ExperimentContext, ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import {
  type AdaptiveRun,
  type LiteralRun,
  runAdaptive,
  runLiteral,
  SAMPLE_MS,
  type Sample,
  START,
  TARGET_RATE,
  WINDOW_MS,
} from './adaptive-run.js'

const ADAPT_EVERY_MS = 1000
const PAPER_STATES = 'paper: 3 filters, 11 s; at 16 s 6, 10 s; at 19 s 4, 13 s; at 28 s 8, 12 s'

/** Six filters that reach back a little further than the window, to show algorithm 2 by itself. */
const FIXED = { pastFilters: 4, refreshMs: 4200 }

interface LiteralRuns {
  readonly adaptive: LiteralRun
  readonly printedCheck: LiteralRun
  readonly correctedCheck: LiteralRun
}

export const fbf13: Experiment = {
  name: 'fbf-13',
  title: 'Forgetful filter: adaptation keeps the false-positive rate below its target',
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 13',
  async run({ quick, random, progress }: ExperimentContext) {
    const probes = quick ? 2000 : 40_000
    const run = runAdaptive({ seed: BigInt(random.uint32()), probes, progress })
    const literal = {
      adaptive: runLiteral({ ...START, oldestAlone: true, targetRate: TARGET_RATE }),
      printedCheck: runLiteral({ ...FIXED, oldestAlone: false }),
      correctedCheck: runLiteral({ ...FIXED, oldestAlone: true }),
    }
    return toResult(run, literal, probes)
  },
}

function toResult(run: AdaptiveRun, literal: LiteralRuns, probes: number): ExperimentResult {
  const { samples } = run
  // A single measured sample is off by chance; three standard errors are allowed for it.
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
    },
    points: samples,
    tables: [changesTable(samples), denialsTable(run, literal)],
    plots: [
      { name: 'rate-over-time', chart: rateChart(samples) },
      { name: 'filters-over-time', chart: filtersChart(samples) },
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
    title: `Ids denied while younger than ${WINDOW_MS / 1000} s, the retry window, by exact sets in place of the paper's filters`,
    columns: ['algorithm', 'ids', 'checks', 'ids denied', 'filters at most', 'rate at most'],
    rows: [
      ['ours, adaptive', run.operations, run.checks, run.denied, filtersMax, rateMax],
      literalRow('paper, adaptive (algorithm 3)', adaptive),
      literalRow('paper, 6 filters, t = 4.2 s, check as printed (algorithm 2)', printedCheck),
      literalRow('the same, oldest filter asked alone', correctedCheck),
    ],
  }
}

function rateChart(samples: readonly Sample[]): LinesChart {
  return {
    kind: 'lines',
    title: 'False-positive rate under a varying load',
    subtitle: 'adaptive forgetful filter, m = 6250, k = 5, from 3 filters and t = 11 s',
    x: { name: 'seconds', min: 0 },
    y: { name: 'false-positive rate', percent: true, min: 0, max: 1.2 * TARGET_RATE },
    series: [
      { name: 'estimated', style: 'solid', points: samples.map(sample => [sample.second, sample.estimated]) },
      { name: 'measured', style: 'solid', points: samples.map(sample => [sample.second, sample.measured]) },
    ],
    references: [{ name: 'target', at: TARGET_RATE }],
  }
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
    detail: longestMs === 0 ? 'never above it' : `at most ${longestMs} ms at a time`,
  }
}

function adapts(samples: readonly Sample[]): Verdict {
  const most = Math.max(...samples.map(sample => sample.filters))
  const last = samples.at(-1)!
  return {
    claim: 'filters are added under load and given back afterwards',
    holds: most > 3 && last.filters < most / 2,
    detail: `from 3 to ${most} and back to ${last.filters}`,
  }
}

function keepsWindow(samples: readonly Sample[]): Verdict {
  const reachMs = Math.min(...samples.map(({ pastFilters, refreshMs }) => (pastFilters + 1) * refreshMs))
  return {
    claim: '(N + 1) t stays above the retry window',
    holds: reachMs > WINDOW_MS,
    detail: `${reachMs / 1000} s at the least, window ${WINDOW_MS / 1000} s`,
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
    claim: "the paper's algorithms as printed do deny ids that they must know",
    holds: adaptive.denied > 0 && printedCheck.denied > 0 && correctedCheck.denied === 0,
    detail: 'empty filters behind the oldest one leave its ids without a witness; so does not asking it alone',
  }
}
