/**
 * Schedules of everything that can go wrong with a replicated store, each from a seed: no write that was acknowledged at QUORUM or
 * ALL is lost, no read that is said to be current is stale, and what was written at ONE or ANY is everywhere after a repair. See
 * `cells-simulator/cells-schedule.ts` for what happens in a schedule.
 */
import { PLANTED_BUGS } from '../../cells-simulator/planted-bugs.js'
import type { Experiment } from '../../harness/experiment.js'
import { createSafetyExperiment, plantedParts } from '../../simulator/safety-experiment.js'

/** Most are seen in one of a hundred schedules, the rarest in one of five hundred. */
const PLANTED_MAX = 4000
const PLANTED_STEP = 200

export const ringSafety: Experiment = createSafetyExperiment({
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, section 3',
  module: new URL('../../cells-simulator/cells-schedule.js', import.meta.url).href,
  quick: 500,
  parts: schedules => [
    { name: 'as it is', schedules, settings: {} },
    ...plantedParts(PLANTED_BUGS, { schedules: PLANTED_MAX, settings: {}, untilBroken: PLANTED_STEP }),
  ],
  columns: { 'writes acknowledged': 'acknowledged', reads: 'reads', 'said to be current': 'currentReads' },
  promise:
    'no write acknowledged at QUORUM or ALL is lost, no read is falsely current, all replicas are alike after a repair',
  recovery: {
    claim: 'seconds after everything is well again reads are current',
    ...{ done: 'lateCurrentReads', tried: 'lateReads', shareMin: 0.95 },
  },
})
