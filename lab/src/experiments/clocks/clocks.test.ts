import { expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { clocks } from './clocks.js'

it('every verdict holds, and the same seed gives the same result', async () => {
  const run = () => clocks.run({ quick: true, seed: 3, random: createRandom(3), progress: () => {} })
  const result = await run()
  expect(result.verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(await run()).toEqual(result)
})
