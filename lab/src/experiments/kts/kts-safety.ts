/**
 * Schedules of everything that can go wrong, each from a seed. With tenures, no timestamp is issued twice or out of order, and no
 * read reported as current is stale. With the paper's protocol alone, both happen. See
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
    ...{ reads: 'reads', 'reported as current': 'currentReads' },
  },
  promise: 'with tenures, timestamps grow, none is issued twice, and no read is falsely current',
  recovery: {
    claim: 'seconds after the faults end, reads are current, except for keys that lost all replicas',
    ...{ done: 'lateCurrentReads', tried: 'lateReads', shareMin: 0.95 },
  },
})
