/** What must hold to call our hash uniform, and to count this as a repetition of the thesis. */
import type { Verdict } from '../../harness/experiment.js'
import { formatPercent } from '../../harness/table.js'
import { ALPHA, rejectionsMax } from './chi-squared.js'
import { FINAL_RATE_EXPECTED } from './filter-insertion.js'
import type { Findings } from './hash-quality.js'
import type { Uniformity } from './uniformity.js'

/** Four standard errors of a rate near 1% measured with 30 000 probes. */
const FINAL_RATE_TOLERANCE = 0.0023
const ADLER_RATE_MIN = 0.5

export function judge(findings: Findings): Verdict[] {
  return [
    oursIsUniform(findings.ours),
    oursIsNotTooUniform(findings.ours),
    adlerIsRejected(findings.figure74),
    rejectionMakesNoDifference(findings.figure76),
    ratesAreNearOnePercent(findings.insertions),
    adlerFillsTheFilter(findings.insertions),
    ...findings.rates.map(rateIsAsComputed),
  ]
}

function oursIsUniform(ours: readonly Uniformity[]): Verdict {
  const bound = rejectionsMax(ours[0]!.tests)
  return {
    claim: 'our indexes are uniform for every kind of key in every size',
    holds: ours.every(({ rejections }) => rejections <= bound),
    detail: `${rangeOf(ours.map(({ rejections }) => rejections))} of ${ours[0]!.tests} tests reject, at most ${bound} allowed`,
  }
}

/** The thesis suspects of its LCG that it passes every test because it fills the places one after the other. */
function oursIsNotTooUniform(ours: readonly Uniformity[]): Verdict {
  const bound = rejectionsMax(ours[0]!.tests)
  const tooEven = ours.map(({ pValues }) => pValues.filter(p => p > 1 - ALPHA).length)
  return {
    claim: 'our indexes are not more even than chance',
    holds: tooEven.every(count => count <= bound),
    detail: `${rangeOf(tooEven)} of ${ours[0]!.tests} tests have a p-value above ${1 - ALPHA}, at most ${bound} allowed`,
  }
}

function adlerIsRejected(figure74: readonly Uniformity[]): Verdict {
  const { rejections, tests } = figure74.find(({ name }) => name === 'Adler32')!
  return {
    claim: 'Adler32 is not uniform, not even on random integers (figure 74)',
    holds: rejections === tests,
    detail: `${rejections} of ${tests} tests reject`,
  }
}

function rejectionMakesNoDifference(figure76: readonly Uniformity[]): Verdict {
  return {
    claim: 'with 32-bit values and few bits, rejection sampling can be left out (figure 76)',
    holds: figure76.every(({ rejections, tests }) => rejections <= rejectionsMax(tests)),
    detail: figure76.map(({ name, rejections, tests }) => `${name} ${rejections} of ${tests}`).join(', '),
  }
}

function ratesAreNearOnePercent(insertions: Findings['insertions']): Verdict {
  const rates = insertions.filter(({ name }) => name !== 'Adler32').map(({ finalRate }) => finalRate)
  return {
    claim: 'in a filter, all functions except Adler32 come close to the expected rate (table 9)',
    holds: rates.every(rate => Math.abs(rate - FINAL_RATE_EXPECTED) <= FINAL_RATE_TOLERANCE),
    detail: `${formatPercent(Math.min(...rates))} to ${formatPercent(Math.max(...rates))}, expected ${formatPercent(FINAL_RATE_EXPECTED)}`,
  }
}

function adlerFillsTheFilter(insertions: Findings['insertions']): Verdict {
  const { finalRate } = insertions.find(({ name }) => name === 'Adler32')!
  return {
    claim: 'with Adler32, the filter is useless (table 9)',
    holds: finalRate > ADLER_RATE_MIN,
    detail: `${formatPercent(finalRate)} false positives; the thesis had 98.6%`,
  }
}

function rateIsAsComputed({ target, expected, measured, toleranceShare }: Findings['rates'][number]): Verdict {
  const off = measured / expected - 1
  return {
    claim: `our filter's rate at a target of ${formatPercent(target)} matches the computed rate`,
    holds: Math.abs(off) <= toleranceShare,
    detail: `${formatPercent(off)} off, at most ${formatPercent(toleranceShare)} allowed`,
  }
}

function rangeOf(values: readonly number[]): string {
  return `${Math.min(...values)} to ${Math.max(...values)}`
}
