/** Runs schedules on all cores. The sum is the same on any number of cores. */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { ScheduleWork } from './schedule-worker.js'
import { addTallies, type Tally } from './tally.js'

const SCHEDULES_AT_ONCE = 50

export async function runInThreads(work: ScheduleWork, onDone: (schedules: number) => void): Promise<Tally> {
  const parts: ScheduleWork[] = []
  for (let done = 0; done < work.count; done += SCHEDULES_AT_ONCE) {
    const count = Math.min(SCHEDULES_AT_ONCE, work.count - done)
    parts.push({ ...work, first: work.first + done, count })
  }
  const tallies: Tally[] = []
  let next = 0
  const runParts = async () => {
    const worker = new Worker(new URL('./schedule-worker.js', import.meta.url))
    try {
      while (next < parts.length) {
        const index = next++
        worker.postMessage(parts[index])
        const [tally] = (await once(worker, 'message')) as [Tally]
        tallies[index] = tally
        onDone(tally.schedules)
      }
    } finally {
      await worker.terminate()
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), parts.length) }, runParts))
  return tallies.reduce(addTallies)
}
