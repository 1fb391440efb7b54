import { expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { filterLoad } from './filter-load.js'

it('the filter follows the formula at every load', async () => {
  const result = await filterLoad.run({ quick: true, seed: 1, random: createRandom(1), progress: () => {} })
  expect(result.verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(result.points).toHaveLength(18)
})
