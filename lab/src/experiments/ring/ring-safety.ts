/**
 * Schedules of everything that can go wrong with a replicated store, each from a seed. No write acknowledged at QUORUM or ALL is
 * lost, no read reported as current is stale, and what was written at ONE or ANY is on every replica after a repair. See
 * `cells-simulator/cells-schedule.ts` for what happens in a schedule.
 */
import { PLANTED_BUGS } from '../../cells-simulator/planted-bugs.js'
import type { Experiment } from '../../harness/experiment.js'
import { createSafetyExperiment, plantedParts } from '../../simulator/safety-experiment.js'

/** Most bugs show in one of a hundred schedules, the rarest in one of five hundred. */
const PLANTED_MAX = 4000
const PLANTED_STEP = 200

export const ringSafety: Experiment = createSafetyExperiment({
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, section 3',
  module: new URL('../../cells-simulator/cells-schedule.js', import.meta.url).href,
  quick: 500,
  parts: schedules => [
    { name: 'as implemented', schedules, settings: {} },
    ...plantedParts(PLANTED_BUGS, { schedules: PLANTED_MAX, settings: {}, untilBroken: PLANTED_STEP }),
  ],
  columns: { 'writes acknowledged': 'acknowledged', reads: 'reads', 'reported as current': 'currentReads' },
  promise:
    'no write acknowledged at QUORUM or ALL is lost, no read is falsely current, all replicas are equal after a repair',
  recovery: {
    claim: 'seconds after the faults end, reads are current',
    ...{ done: 'lateCurrentReads', tried: 'lateReads', shareMin: 0.95 },
  },
})
