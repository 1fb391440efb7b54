/** Figures 72 to 79 of the thesis, drawn from our findings. */
import type { BoxesChart } from '../../harness/chart.js'
import type { Plot } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { ALPHA, criticalValue, fiveNumbers } from './chi-squared.js'
import { FINAL_RATE_EXPECTED } from './filter-insertion.js'
import type { Findings } from './hash-quality.js'
import type { Uniformity } from './uniformity.js'

export function drawFigures(findings: Findings): Plot[] {
  const { figure72, figure74, figure75, figure76, figure78, insertions, speeds } = findings
  // Adler32's statistic is twenty times the others'; beside it, the others would look the same.
  const good75 = figure75.filter(({ name }) => name !== 'Adler32')
  return [
    { name: 'figure-72', chart: statisticBoxes('Chi-squared statistic, random strings', figure72) },
    { name: 'figure-73', chart: pValueBoxes('p-values, random strings', figure72) },
    { name: 'figure-74', chart: statisticBoxes('Adler32 is far from uniform', figure74) },
    { name: 'figure-75', chart: statisticBoxes('The LCG is too uniform on increasing integers', good75) },
    { name: 'figure-76', chart: statisticBoxes('With and without rejection sampling', figure76) },
    { name: 'figure-77', chart: finalRates(insertions) },
    { name: 'figure-78', chart: meanStatistics(figure78) },
    { name: 'figure-79', chart: speedBars(speeds) },
  ]
}

function statisticBoxes(title: string, tests: readonly Uniformity[]): BoxesChart {
  return {
    kind: 'boxes',
    title,
    subtitle: describe(tests[0]!),
    y: { name: 'chi-squared' },
    boxes: tests.map(({ name, statistics }) => ({ name, numbers: fiveNumbers(statistics) })),
    references: [{ name: `critical value at ${ALPHA}`, at: criticalValue(tests[0]!.bits) }],
  }
}

function pValueBoxes(title: string, tests: readonly Uniformity[]): BoxesChart {
  return {
    kind: 'boxes',
    title,
    subtitle: describe(tests[0]!),
    y: { name: 'p-value', min: 0, max: 1 },
    boxes: tests.map(({ name, pValues }) => ({ name, numbers: fiveNumbers(pValues) })),
    references: [{ name: `rejected below ${ALPHA}`, at: ALPHA }],
  }
}

function finalRates(insertions: Findings['insertions']): Plot['chart'] {
  const shown = insertions.filter(({ name }) => name !== 'Adler32')
  return {
    kind: 'bars',
    title: 'False-positive rate after 30 000 increasing ids',
    subtitle: 'm = 300 000, k = 10; Adler32, above 50%, is left out',
    y: { name: 'final false-positive rate', percent: true, min: 0 },
    categories: shown.map(({ name }) => name),
    series: [{ name: 'measured', values: shown.map(({ finalRate }) => finalRate) }],
    references: [{ name: `expected ${formatPercent(FINAL_RATE_EXPECTED)}`, at: FINAL_RATE_EXPECTED }],
  }
}

function meanStatistics(tests: readonly Uniformity[]): Plot['chart'] {
  const mean = ({ statistics }: Uniformity) => statistics.reduce((sum, value) => sum + value, 0) / statistics.length
  return {
    kind: 'bars',
    title: 'Mean chi-squared statistic, increasing ids',
    subtitle: describe(tests[0]!),
    y: { name: 'chi-squared, mean', scale: 'log', min: 1000 },
    categories: tests.map(({ name }) => name),
    series: [{ name: 'measured', values: tests.map(mean) }],
    references: [{ name: 'expected', at: tests[0]!.bits - 1 }],
  }
}

function speedBars(speeds: Findings['speeds']): Plot['chart'] {
  return {
    kind: 'bars',
    title: 'Speed of hash functions',
    subtitle: '5 indexes for each key, m = 1000',
    y: { name: 'speed, Murmur = 1', min: 0 },
    categories: speeds.map(({ name }) => name),
    series: [{ name: 'speed', values: speeds.map(({ timesMurmur }) => timesMurmur) }],
    references: [{ name: 'Murmur', at: 1 }],
  }
}

function describe({ kind, bits, tests }: Uniformity): string {
  return `100 000 indexes, m = ${bits}, k = 10, ${tests} tests, ${kind}`
}
