/**
 * Which filter remembers a window of keys in the fewest bits? The forgetful filter, its predecessors and its successors, at equal
 * error, built for the same promise and measured in the steady state. Then their speed, and their behaviour when more keys come
 * than they were sized for.
 */
import type { Experiment, ExperimentContext } from '../../harness/experiment.js'
import { runConstantLoad } from './constant-load.js'
import { contenders } from './contenders.js'
import { measureSpeed } from './speed.js'
import { type OverloadPoint, reportWindowed, type SizePoint } from './windowed-report.js'

const RATES = [0.01, 0.0001]
const LOAD_FACTORS = [1, 1.5, 2, 3]
const OVERLOAD_RATE = 0.01
const PROBES_MIN = 60_000

/** `positives`: the run waits for this many false positives, which determines the precision of the measured rate. */
const FULL = {
  windowMs: 27_720,
  filters: 4,
  positives: 2500,
  overloadProbes: 100_000,
  speedEntries: 50_000,
  speedRounds: 7,
}
const QUICK = {
  windowMs: 5544,
  filters: 2,
  positives: 120,
  overloadProbes: 40_000,
  speedEntries: 20_000,
  speedRounds: 3,
}

export const windowed: Experiment = {
  source: 'Subramanyam et al. 2015; Shtul, Baquero, Almeida 2020; Fan et al. 2014',
  async run(context) {
    const sizes = measureSizes(context)
    const overloads = measureOverloads(context)
    const { speedEntries: entries, speedRounds: rounds } = context.quick ? QUICK : FULL
    const speeds = await measureSpeed({
      seed: context.seed,
      entries,
      rounds,
      falsePositiveRateMax: OVERLOAD_RATE,
      progress: context.progress,
    })
    return reportWindowed({ sizes, overloads, speeds })
  },
}

function measureSizes({ quick, random, progress }: ExperimentContext): SizePoint[] {
  const { windowMs, filters, positives } = quick ? QUICK : FULL
  const cells = RATES.flatMap(rate => contenders.map(contender => ({ rate, contender })))
  return cells.map(({ rate, contender }, i) => {
    progress(i, cells.length, `${contender.name} at ${rate}`)
    const probesPerFilter = Math.ceil(Math.max(positives / rate, PROBES_MIN) / filters)
    const load = { contender, falsePositiveRateMax: rate, windowMs, loadFactor: 1, filters, probesPerFilter }
    return { contender, targetRate: rate, entries: windowMs, outcome: runConstantLoad(load, random) }
  })
}

function measureOverloads({ quick, random, progress }: ExperimentContext): OverloadPoint[] {
  const { windowMs, overloadProbes: probesPerFilter } = quick ? QUICK : FULL
  const cells = contenders.flatMap(contender => LOAD_FACTORS.map(loadFactor => ({ contender, loadFactor })))
  return cells.map(({ contender, loadFactor }, i) => {
    progress(i, cells.length, `${contender.name} at ${loadFactor} times its load`)
    const load = { contender, falsePositiveRateMax: OVERLOAD_RATE, windowMs, loadFactor, filters: 1, probesPerFilter }
    return { name: contender.name, loadFactor, outcome: runConstantLoad(load, random) }
  })
}
