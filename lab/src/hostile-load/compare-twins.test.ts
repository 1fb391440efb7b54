import { expect, test } from 'vitest'
import { createRandom } from '../harness/random.js'
import { compareTwins } from './compare-twins.js'

test('callers get the same bytes from every route, whatever hidden data exists', async () => {
  const { requests, leaks, serverErrors, storedByStrangers, byRole } = await compareTwins({
    requests: 1500,
    random: createRandom(1),
  })
  expect({ leaks, serverErrors, storedByStrangers }).toEqual({ leaks: [], serverErrors: [], storedByStrangers: 0 })
  expect(requests).toBeGreaterThan(1400)
  // Callers still see what they may see.
  for (const counts of Object.values(byRole)) expect(counts['2xx']).toBeGreaterThan(10)
})
