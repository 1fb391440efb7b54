/**
 * Are the indexes that a filter computes uniform, and does its false-positive rate therefore follow the formula?
 * Repeats table 9 and figures 72 to 79 of the thesis with today's libraries and our own hash.
 *
 * Our hash is tested more broadly than the others: on all five kinds of key in all four sizes. Cryptographic functions take
 * microseconds, so the other functions are tested where the thesis shows a figure.
 */
import type { Experiment, ExperimentContext } from '../../harness/experiment.js'
import { drawFigures } from './figures.js'
import { type Insertion, insertIds } from './filter-insertion.js'
import { checkRates, type RateCheck } from './filter-rate.js'
import { type HashFunction, hashFunction, hashFunctions, md5WithoutRejection, OURS } from './hash-functions.js'
import { KEY_KINDS } from './key-kinds.js'
import { measureSpeeds, type Speed } from './speed.js'
import { tabulate } from './tables.js'
import { testUniformity, type Uniformity, type UniformityTest } from './uniformity.js'
import { judge } from './verdicts.js'

export interface Findings {
  /** Our hash on every kind of key in every size. */
  readonly ours: readonly Uniformity[]
  readonly figure72: readonly Uniformity[]
  readonly figure74: readonly Uniformity[]
  readonly figure75: readonly Uniformity[]
  readonly figure76: readonly Uniformity[]
  readonly figure78: readonly Uniformity[]
  readonly insertions: readonly Insertion[]
  readonly speeds: readonly Speed[]
  readonly rates: readonly RateCheck[]
}

const SIZES = [1_000_000, 10_000, 1000, 100]
const FIGURE_72: UniformityTest = { kind: 'random strings', bits: 1_000_000 }
const FIGURE_74: UniformityTest = { kind: 'random integers', bits: 10_000 }
const FIGURE_75: UniformityTest = { kind: 'increasing integers', bits: 1000 }
const FIGURE_76: UniformityTest = { kind: 'random strings', bits: 100 }
const FIGURE_78: UniformityTest = { kind: 'increasing ids', bits: 10_000 }

export const hashQuality: Experiment = {
  source: 'Gessert and Bücklers 2012, table 9 and figures 72 to 79',
  async run(context) {
    const findings = await gather(context)
    return {
      summary: summarise(findings),
      tables: tabulate(findings),
      plots: drawFigures(findings),
      verdicts: judge(findings),
    }
  },
}

async function gather({ quick, seed, random, progress }: ExperimentContext): Promise<Findings> {
  const tests = quick ? 10 : 100
  const ours = hashFunction(OURS)
  const good = hashFunction('SHA-1')
  const adler = hashFunction('Adler32')
  const steps = SIZES.length * KEY_KINDS.length + 8
  let step = 0
  const test = (functions: readonly HashFunction[], what: UniformityTest, times = tests) => {
    const show = (done: number) => progress(step + done / times, steps, `${what.kind}, ${what.bits} bits`)
    const results = testUniformity(functions, what, times, random, show)
    step++
    return results
  }
  const everywhere = SIZES.flatMap(bits => KEY_KINDS.flatMap(kind => test([ours], { kind, bits })))
  const figure72 = test(
    hashFunctions.filter(hash => hash !== adler),
    FIGURE_72,
  )
  const figure74 = test([ours, good, adler], FIGURE_74)
  const figure75 = test(hashFunctions, FIGURE_75)
  const figure76 = test([md5WithoutRejection, good], FIGURE_76, tests / 2)
  const figure78 = test(hashFunctions, FIGURE_78)
  progress(step++, steps, 'filters')
  const insertions = hashFunctions.map(hash => insertIds(hash, random))
  const rates = checkRates(quick, random)
  const speeds = await measureSpeeds({ quick, seed }, (done, total) => progress(step + done / total, steps, 'speed'))
  return { ours: everywhere, figure72, figure74, figure75, figure76, figure78, insertions, rates, speeds }
}

function summarise({ ours, figure72, figure75, figure78, insertions, rates, speeds }: Findings) {
  const brief = ({ name, kind, bits, tests, rejections }: Uniformity) => ({ name, kind, bits, tests, rejections })
  return {
    rejectionsMaxOfOurs: Math.max(...ours.map(({ rejections }) => rejections)),
    uniformityOfOurs: ours.map(brief),
    uniformity: [...figure72, ...figure75, ...figure78].map(brief),
    insertions,
    rates,
    speeds,
  }
}
