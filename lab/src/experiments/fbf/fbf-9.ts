/** The estimate of the false-positive rate and the measured rate, by number of elements. */
import type { Experiment } from '../../harness/experiment.js'
import { createEstimateFigure } from './estimate-agreement.js'

export const fbf9: Experiment = createEstimateFigure({
  ...{ number: 9, name: 'elements', unit: 'elements', values: [100, 200, 300, 400, 500, 600, 700, 800] },
  valueOf: point => point.elements,
  settingsAt: elements => ({ size: { bits: 6250, hashes: 5 }, elements }),
  filters: { quick: 4, full: 60 },
  subtitle: 'basic forgetful filter, m = 6250, k = 5, t = 5 s',
})
