/** The speed of the windowed filters, as ratios to the rotating filter. Durations vary from run to run; ratios vary much less. */
import { type PreparedContender, startChild } from '../../harness/child-contender.js'
import type { Progress } from '../../harness/experiment.js'
import { measureSideBySide, type Standing } from '../../harness/side-by-side.js'
import { CONTENDER_NAMES } from './contenders.js'

export const SPEED_MEASURES = ['add', 'has, new key', 'has, retry'] as const
export type SpeedMeasure = (typeof SPEED_MEASURES)[number]

export interface SpeedOptions {
  readonly seed: number
  readonly entries: number
  readonly rounds: number
  readonly falsePositiveRateMax: number
  readonly progress: Progress
}

// A child process cannot run TypeScript: when the tests run this module from its source, use the built child.
const CHILD = new URL(new URL('./speed-child.js', import.meta.url).href.replace('/lab/src/', '/lab/dist/'))

export async function measureSpeed(options: SpeedOptions): Promise<Standing<SpeedMeasure>[]> {
  const { seed, entries, rounds, falsePositiveRateMax, progress } = options
  const running: PreparedContender<undefined, SpeedMeasure>[] = []
  try {
    for (const name of CONTENDER_NAMES) {
      const settings = { name, seed, entries, falsePositiveRateMax }
      running.push(await startChild<undefined, SpeedMeasure>({ name, module: CHILD, settings }))
    }
    return await measureSideBySide({ contenders: running, measures: SPEED_MEASURES, rounds, onTurn: progress })
  } finally {
    await Promise.all(running.map(child => child.stop()))
  }
}
