/** Runs schedules in its own thread, a range of seeds at a time. */
import { parentPort } from 'node:worker_threads'
import type { Counted, ScheduleResult } from './schedule.js'
import { type Seeds, tallySchedules } from './tally.js'

export interface ScheduleWork extends Seeds {
  /** The address of a module that exports `runSchedule`. */
  readonly module: string
  /** The settings for `runSchedule`, without the seed. */
  readonly settings: object
}

interface ScheduleModule {
  runSchedule(settings: object): Promise<ScheduleResult<Counted>>
}

// Simulations create errors by the hundred thousand, and no code reads their stack traces.
Error.stackTraceLimit = 0

parentPort!.on('message', async ({ module, settings, ...seeds }: ScheduleWork) => {
  const { runSchedule }: ScheduleModule = await import(module)
  parentPort!.postMessage(await tallySchedules(seed => runSchedule({ ...settings, seed }), seeds))
})
