/** The estimate of the false-positive rate against measurement, by number of elements. */
import type { Experiment, ExperimentContext } from '../../harness/experiment.js'
import { type BasicRate, measureBasicFilter } from './basic-filter.js'
import { compareEstimates } from './estimate-agreement.js'

const SIZE = { bits: 6250, hashes: 5 }
const ELEMENTS = [100, 200, 300, 400, 500, 600, 700, 800]

export const fbf9: Experiment = {
  name: 'fbf-9',
  title: 'Forgetful filter: the estimated false-positive rate against the measured one, by number of elements',
  source: 'Subramanyam, Gupta, Leslie, Wang 2015, figure 9',
  run: async context =>
    compareEstimates(measureAll(context), {
      name: 'elements',
      valueOf: point => point.elements,
      subtitle: 'basic forgetful filter, m = 6250, k = 5, t = 5 s',
    }),
}

function measureAll({ quick, random, progress }: ExperimentContext): BasicRate[] {
  return ELEMENTS.map((elements, i) => {
    progress(i, ELEMENTS.length, `${elements} elements`)
    return measureBasicFilter({ size: SIZE, elements, check: 'optimised', filters: quick ? 4 : 60 }, random)
  })
}
