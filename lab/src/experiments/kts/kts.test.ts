import { expect, it } from 'vitest'
import { SEED_DEFAULT } from '../../harness/arguments.js'
import type { Experiment } from '../../harness/experiment.js'
import { createRandom } from '../../harness/random.js'
import { kts9 } from './kts-9.js'
import { ktsAtOnce } from './kts-at-once.js'
import { ktsExpected } from './kts-expected.js'

function runQuick(experiment: Experiment) {
  const seed = SEED_DEFAULT
  return experiment.run({ quick: true, seed, random: createRandom(seed), progress: () => {} })
}

// The others are the same runs along other axes; `npm run lab -- all --quick` runs them all.
it.each(Object.entries({ kts9, ktsAtOnce, ktsExpected }))('%s: every verdict holds', async (_, experiment) => {
  const { verdicts, points } = await runQuick(experiment)
  expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(verdicts.length).toBeGreaterThan(0)
  expect(points?.length).toBeGreaterThan(0)
})
