import { expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { operationsMemory } from './operations-memory.js'

it("our clients' ids take less than four bits per operation, and a Map of foreign ids takes hundreds", async () => {
  const result = await operationsMemory.run({ quick: true, seed: 1, random: createRandom(1), progress: () => {} })
  expect(result.verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(result.summary.ownBits).toBeGreaterThan(0)
  expect(result.summary.mapBytes).toBeGreaterThan(40)
})
