/**
 * Schedules of everything that can go wrong, each from a seed. A slot of a replicated log never holds two values, and a server
 * that reads the log sees everything decided before. `agreement-simulator/agreement-schedule.ts` says what happens in a schedule.
 */
import { PLANTED_BUGS } from '../../agreement-simulator/planted-bugs.js'
import type { Experiment } from '../../harness/experiment.js'
import { createSafetyExperiment, plantedParts } from '../../simulator/safety-experiment.js'

const PLANTED_SHARE = 0.05

export const agreementSafety: Experiment = createSafetyExperiment({
  source: 'Lamport 2001; Chockler and Malkhi 2002',
  module: new URL('../../agreement-simulator/agreement-schedule.js', import.meta.url).href,
  quick: 2000,
  parts: schedules => {
    const planted = Math.max(2000, Math.round(schedules * PLANTED_SHARE))
    return [
      { name: 'as implemented', schedules, settings: {} },
      ...plantedParts(PLANTED_BUGS, { schedules: planted, settings: {} }),
    ]
  },
  columns: { 'slots decided': 'decided', looks: 'looks' },
  promise: 'no slot holds two records, and a read sees everything that was decided before it',
  recovery: {
    claim: 'once the faults end, appends succeed',
    ...{ done: 'lateAppended', tried: 'lateAppends', shareMin: 0.99 },
  },
})
