/**
 * Schedules of everything that can go wrong, each from a seed: with tenures no timestamp is given twice or out of order and no
 * read that is said to be current is stale; with the paper's protocol alone there are both. See
 * `dht-simulator/timestamp-schedule.ts` for what happens in a schedule.
 */
import { PLANTED_BUGS } from '../../dht-simulator/planted-bugs.js'
import type { Experiment } from '../../harness/experiment.js'
import { createSafetyExperiment, plantedParts } from '../../simulator/safety-experiment.js'

const PAPER_SHARE = 0.02
const { 'kept counter': keptCounter, ...OFTEN_SEEN } = PLANTED_BUGS
const SELDOM_SEEN = { 'kept counter': keptCounter }

export const ktsSafety: Experiment = createSafetyExperiment({
  source: 'beyond Akbarinia, Pacitti, Valduriez 2007, section 4',
  module: new URL('../../dht-simulator/timestamp-schedule.js', import.meta.url).href,
  quick: 1000,
  parts: schedules => {
    const others = Math.max(300, Math.round(schedules * PAPER_SHARE))
    return [
      { name: 'with tenures', schedules, settings: { protocol: 'tenures' } },
      { name: 'the paper alone', schedules: others, settings: { protocol: 'paper' } },
      ...plantedParts(OFTEN_SEEN, { schedules: others, settings: { protocol: 'tenures' } }),
      ...plantedParts(SELDOM_SEEN, { schedules: 5 * others, settings: { protocol: 'tenures' } }),
    ]
  },
  columns: {
    ...{ timestamps: 'timestamps', 'writes acknowledged': 'committed' },
    ...{ reads: 'reads', 'said to be current': 'currentReads' },
  },
  promise: 'with tenures timestamps grow, none is given twice, and no read is falsely current',
  recovery: {
    claim: 'seconds after everything is well again reads are current, but for what was lost with all its replicas',
    ...{ done: 'lateCurrentReads', tried: 'lateReads', shareMin: 0.95 },
  },
})
