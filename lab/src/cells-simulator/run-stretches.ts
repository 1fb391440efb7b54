/** Schedules on all cores. The sum is the same on any number of them. */
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { addTallies, type Stretch, type Tally } from './schedule-worker.js'

const SCHEDULES_AT_ONCE = 50

export async function runStretches(stretch: Stretch, onDone: (schedules: number) => void): Promise<Tally> {
  const parts: Stretch[] = []
  for (let done = 0; done < stretch.count; done += SCHEDULES_AT_ONCE) {
    const count = Math.min(SCHEDULES_AT_ONCE, stretch.count - done)
    parts.push({ ...stretch, first: stretch.first + done, count })
  }
  const tallies: Tally[] = []
  let next = 0
  const work = async () => {
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
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), parts.length) }, work))
  return tallies.reduce(addTallies)
}
