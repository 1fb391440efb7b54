/**
 * The estimate of the false-positive rate and the measured rate, by the size of each filter: 300 elements, 5000 to 30 000
 * bits. The rate falls by four orders of magnitude over that range; the largest filters err too rarely to be measured.
 */
import type { Experiment } from '../../harness/experiment.js'
import { createEstimateFigure } from './estimate-agreement.js'

const BITS = [5000, 7500, 10_000, 12_500, 15_000, 20_000, 25_000, 30_000]

export const fbf10: Experiment = createEstimateFigure({
  ...{ number: 10, name: 'bits in each filter', unit: 'bits', values: BITS },
  valueOf: point => point.bits,
  settingsAt: bits => ({ size: { bits, hashes: 5 }, elements: 300 }),
  filters: { quick: 20, full: 200 },
  subtitle: 'basic forgetful filter, 300 elements, k = 5, t = 5 s',
})
