import { expect, it } from 'vitest'
import { SEED_DEFAULT } from '../../harness/arguments.js'
import { createRandom } from '../../harness/random.js'
import { windowed } from './windowed.js'

it('every filter needs the calculated bits, and the aged cuckoo filter the fewest', async () => {
  const random = createRandom(SEED_DEFAULT)
  const { verdicts, summary } = await windowed.run({ quick: true, seed: SEED_DEFAULT, random, progress: () => {} })
  expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(summary.best).toEqual({ '1%': 'aged-cuckoo', '0.01%': 'aged-cuckoo' })
})
