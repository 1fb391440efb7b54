/**
 * The estimate of the false-positive rate against measurement, by the size of each filter: 300 elements, 5000 to 30 000
 * bits. The rate falls by four orders of magnitude on the way; the largest filters err too rarely to be measured.
 */
import type { Experiment, ExperimentContext } from '../../harness/experiment.js'
import { type BasicRate, measureBasicFilter } from './basic-filter.js'
import { compareEstimates } from './estimate-agreement.js'

const ELEMENTS = 300
const HASHES = 5
const BITS = [5000, 7500, 10_000, 12_500, 15_000, 20_000, 25_000, 30_000]

export const fbf10: Experiment = {
  name: 'fbf-10',
  title: 'Forgetful filter: the estimated false-positive rate against the measured one, by size',
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 10',
  run: async context =>
    compareEstimates(measureAll(context), {
      name: 'bits in each filter',
      valueOf: point => point.bits,
      subtitle: 'basic forgetful filter, 300 elements, k = 5, t = 5 s',
    }),
}

function measureAll({ quick, random, progress }: ExperimentContext): BasicRate[] {
  return BITS.map((bits, i) => {
    progress(i, BITS.length, `${bits} bits`)
    const size = { bits, hashes: HASHES }
    return measureBasicFilter({ size, elements: ELEMENTS, check: 'optimised', filters: quick ? 20 : 200 }, random)
  })
}
