/** Tables, plots and verdicts of the windowed filters. */
import type { BarsChart, LinesChart } from '../../harness/chart.js'
import type { ExperimentResult, Table, Verdict } from '../../harness/experiment.js'
import { type Standing, speedRatio } from '../../harness/side-by-side.js'
import { formatPercent } from '../../harness/table.js'
import type { LoadOutcome } from './constant-load.js'
import { CONTENDER_NAMES, type ContenderName, type WindowedContender } from './contenders.js'
import { SPEED_MEASURES, type SpeedMeasure } from './speed.js'

/** One filter at one rate, as measured. */
export interface SizePoint {
  readonly contender: WindowedContender
  readonly targetRate: number
  /** Keys in a window. */
  readonly entries: number
  readonly outcome: LoadOutcome
}

export interface OverloadPoint {
  readonly name: ContenderName
  readonly loadFactor: number
  readonly outcome: LoadOutcome
}

export interface WindowedOutcome {
  readonly sizes: readonly SizePoint[]
  readonly overloads: readonly OverloadPoint[]
  readonly speeds: readonly Standing<SpeedMeasure>[]
}

/** Bits per remembered key: calculated, in use, and what would be in use if the filter erred exactly at the target rate. */
interface Size {
  readonly name: ContenderName
  readonly targetRate: number
  readonly calculated: number
  readonly used: number
  readonly atEqualError: number
  readonly outcome: LoadOutcome
}

const BASELINE = 'rotating'
/** Allows for whole words, whole hashes and the error of a measurement. */
const DEVIATION_MAX = 0.04

export function reportWindowed({ sizes: points, overloads, speeds }: WindowedOutcome): ExperimentResult {
  const sizes = points.map(toSize)
  const rates = [...new Set(sizes.map(size => size.targetRate))]
  return {
    summary: {
      bitsPerEntry: perRate(rates, rate => Object.fromEntries(atRate(sizes, rate).map(s => [s.name, s.atEqualError]))),
      best: perRate(rates, rate => ranked(sizes, rate)[0]!.name),
    },
    points: [...sizes, ...overloads],
    tables: [sizeTable(sizes, points[0]!.entries), speedTable(speeds), overloadTable(overloads)],
    plots: [
      { name: 'bits-per-entry', chart: sizeChart(sizes, rates) },
      { name: 'rate-at-overload', chart: overloadChart(overloads) },
    ],
    verdicts: [
      asCalculated(sizes),
      deniesNone(sizes, overloads),
      ...rates.map(rate => winner(sizes, rate)),
      bloomsTakeOverload(overloads),
      cuckooRefuses(overloads),
    ],
  }
}

/** A filter that errs less often than the target has more bits than it needs; the calculation says how many more. */
function toSize({ contender, targetRate, entries, outcome }: SizePoint): Size {
  const calculated = contender.bitsAt(targetRate)
  const used = (outcome.bytesMax * 8) / entries
  const atEqualError = (used * calculated) / contender.bitsAt(outcome.rate.rate)
  return { name: contender.name, targetRate, calculated, used, atEqualError, outcome }
}

function perRate<Value>(rates: readonly number[], value: (rate: number) => Value): Record<string, Value> {
  return Object.fromEntries(rates.map(rate => [formatPercent(rate), value(rate)]))
}

function atRate(sizes: readonly Size[], rate: number): Size[] {
  return sizes.filter(size => size.targetRate === rate)
}

/** Smallest first. */
function ranked(sizes: readonly Size[], rate: number): Size[] {
  return atRate(sizes, rate).sort((a, b) => a.atEqualError - b.atEqualError)
}

function sizeTable(sizes: readonly Size[], entries: number): Table {
  const rows = sizes.map(({ name, targetRate, calculated, used, atEqualError, outcome }) => [
    formatPercent(targetRate),
    name,
    calculated,
    used,
    formatPercent(outcome.rate.rate),
    formatPercent(outcome.estimatedRate),
    atEqualError,
    formatPercent(atEqualError / calculated - 1),
  ])
  const columns = [
    'rate asked',
    'filter',
    'calculated',
    'used',
    'rate measured',
    'estimated',
    'at equal error',
    'off by',
  ]
  return { title: `Bits per key that is guaranteed to be remembered (${entries} in a window)`, columns, rows }
}

function speedTable(speeds: readonly Standing<SpeedMeasure>[]): Table {
  const rows = speeds.map(({ name, medians }) => [
    name,
    ...SPEED_MEASURES.flatMap(measure => [
      Math.round(1e9 / medians[measure] / 1000),
      speedRatio(speeds, name, BASELINE, measure),
    ]),
  ])
  const columns = SPEED_MEASURES.flatMap(measure => [`${measure}, 1000/s`, `times ${BASELINE}`])
  return { title: 'Speed at 1%, side by side', columns: ['filter', ...columns], rows }
}

function overloadTable(overloads: readonly OverloadPoint[]): Table {
  const rows = overloads.map(({ name, loadFactor, outcome }) => {
    const planned = overloads.find(point => point.name === name && point.loadFactor === 1)!
    return [
      name,
      loadFactor,
      formatPercent(outcome.rate.rate),
      outcome.bytesMax / planned.outcome.bytesMax,
      formatPercent(outcome.refused),
      outcome.denied,
    ]
  })
  const columns = ['filter', 'load', 'rate', 'memory', 'keys refused', 'keys denied']
  return {
    title: 'More keys than the filter was sized for, at 1% (load and memory: as multiples of the planned)',
    columns,
    rows,
  }
}

function sizeChart(sizes: readonly Size[], rates: readonly number[]): BarsChart {
  return {
    kind: 'bars',
    title: 'Bits per remembered key at equal error',
    subtitle: 'measured in the steady state, with the window just full',
    categories: [...CONTENDER_NAMES],
    y: { name: 'bits per key', min: 0 },
    series: rates.map(rate => ({
      name: formatPercent(rate),
      values: atRate(sizes, rate).map(size => size.atEqualError),
    })),
  }
}

function overloadChart(overloads: readonly OverloadPoint[]): LinesChart {
  return {
    kind: 'lines',
    title: 'False-positive rate at overload',
    subtitle: 'sized for 1%; the aged cuckoo filter refuses the surplus, rotating and age-partitioned ones grow',
    x: { name: 'keys that arrive / keys planned for', min: 1 },
    y: { name: 'false-positive rate', scale: 'log', percent: true },
    series: CONTENDER_NAMES.map(name => ({
      name,
      style: 'marked',
      points: overloads.filter(point => point.name === name).map(point => [point.loadFactor, point.outcome.rate.rate]),
    })),
    references: [{ name: 'asked for', at: 0.01 }],
  }
}

function asCalculated(sizes: readonly Size[]): Verdict {
  const off = ({ atEqualError, calculated }: Size) => atEqualError / calculated - 1
  const worst = sizes.reduce((a, b) => (Math.abs(off(b)) > Math.abs(off(a)) ? b : a))
  return {
    claim: 'every filter needs the calculated number of bits',
    holds: Math.abs(off(worst)) <= DEVIATION_MAX,
    detail: `at most ${formatPercent(off(worst))} off, ${worst.name} at ${formatPercent(worst.targetRate)}`,
  }
}

function deniesNone(sizes: readonly Size[], overloads: readonly OverloadPoint[]): Verdict {
  const denied = [...sizes, ...overloads].reduce((sum, { outcome }) => sum + outcome.denied, 0)
  return {
    claim: 'no filter denies a key younger than the window, overloaded or not',
    holds: denied === 0,
    detail: `${denied} keys denied`,
  }
}

function winner(sizes: readonly Size[], rate: number): Verdict {
  const order = ranked(sizes, rate)
  return {
    claim: `at ${formatPercent(rate)} the aged cuckoo filter needs the fewest bits, the rotating filter the fewest of the Bloom filters`,
    holds: order[0]!.name === 'aged-cuckoo' && order[1]!.name === BASELINE,
    detail: order.map(size => `${size.name} ${size.atEqualError.toFixed(1)}`).join(', '),
  }
}

function bloomsTakeOverload(overloads: readonly OverloadPoint[]): Verdict {
  const names: readonly ContenderName[] = [BASELINE, 'age-partitioned']
  const outcomes = overloads.filter(point => names.includes(point.name)).map(point => point.outcome)
  return {
    claim:
      'the rotating and age-partitioned filters accept three times the load, while their memory and rate grow with it',
    holds: outcomes.every(outcome => outcome.refused === 0 && outcome.rate.rate < 0.05),
    detail: `no key refused, rate at most ${formatPercent(Math.max(...outcomes.map(outcome => outcome.rate.rate)))}`,
  }
}

function cuckooRefuses(overloads: readonly OverloadPoint[]): Verdict {
  const own = overloads.filter(point => point.name === 'aged-cuckoo')
  return {
    claim: 'the aged cuckoo filter keeps its rate and memory, and refuses keys that do not fit',
    holds: own.every(({ loadFactor, outcome }) => outcome.rate.rate < 0.011 && outcome.refused > 0 === loadFactor > 1),
    detail: own.map(({ loadFactor, outcome }) => `${formatPercent(outcome.refused)} at ${loadFactor} times`).join(', '),
  }
}
