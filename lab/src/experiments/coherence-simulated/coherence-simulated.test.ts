import { expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { coherenceSimulated } from './coherence-simulated.js'

it('only reads under a URL that no stale copy can have are never stale, and behind several faults at once some are refused', async () => {
  const result = await coherenceSimulated.run({ quick: true, seed: 1, random: createRandom(1), progress: () => {} })
  expect(result.verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(result.points?.length).toBeGreaterThan(6)
  expect(result.summary).toMatchObject({ faultyViolations: 0 })
})
