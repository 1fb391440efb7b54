import { expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { operationsMemory } from './operations-memory.js'

it('ids of our clients take less than four bits for each operation, a Map of foreign ones hundreds', async () => {
  const result = await operationsMemory.run({ quick: true, seed: 1, random: createRandom(1), progress: () => {} })
  expect(result.verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(result.summary.ownBits).toBeGreaterThan(0)
  expect(result.summary.mapBytes).toBeGreaterThan(40)
})
