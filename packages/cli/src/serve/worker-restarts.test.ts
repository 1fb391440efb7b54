import { expect, test } from 'vitest'
import { FAILED_STARTS_MAX, NO_DEATHS, onWorkerDeath, type WorkerDeath } from './worker-restarts.js'

const KILLED: WorkerDeath = { wasReady: true, livedMs: 500 }
const STILLBORN: WorkerDeath = { wasReady: false, livedMs: 50 }

/** The pauses before each restart; 'giveUp' if there is no restart. */
function pausesAfter(deaths: readonly WorkerDeath[]): (number | 'giveUp')[] {
  let state = NO_DEATHS
  return deaths.map(death => {
    const decision = onWorkerDeath(state, death)
    if (decision.kind === 'giveUp') return 'giveUp'
    state = decision.state
    return decision.afterMs
  })
}

test('a worker that had been ready is replaced at once, the next ones after longer pauses, up to five seconds', () => {
  expect(pausesAfter(Array(9).fill(KILLED))).toEqual([0, 200, 400, 800, 1600, 3200, 5000, 5000, 5000])
})

test('deaths long ago do not count', () => {
  expect(pausesAfter([KILLED, KILLED, { wasReady: true, livedMs: 60_000 }])).toEqual([0, 200, 0])
})

test('workers that die at start over and over end the server', () => {
  const pauses = pausesAfter(Array(FAILED_STARTS_MAX).fill(STILLBORN))
  expect(pauses).toEqual([100, 200, 400, 800, 'giveUp'])
})

test('a worker that gets ready in between starts the count of failed starts again', () => {
  const four = Array<WorkerDeath>(FAILED_STARTS_MAX - 1).fill(STILLBORN)
  expect(pausesAfter([...four, KILLED, ...four])).not.toContain('giveUp')
})
