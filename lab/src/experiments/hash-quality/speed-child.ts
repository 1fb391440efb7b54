/** One hash function in a process of its own; `speed.ts` starts it. */
import { createBloom } from '@freshet/bloom'
import { hostInChild } from '../../harness/contender-worker.js'
import { productKeys, takeKeys } from '../../harness/keys.js'
import { createRandom } from '../../harness/random.js'
import { elapsedMs, stopwatch } from '../../harness/stopwatch.js'
import { hashFunction, OURS } from './hash-functions.js'
import type { SpeedMeasure, SpeedSettings } from './speed.js'

/** Figure 79 of the thesis. */
const BITS = 1000
const HASHES = 5

let runRound: () => Record<SpeedMeasure, number>

hostInChild<SpeedSettings>({
  async prepare({ name, keys: count, seed }) {
    const keys = takeKeys(productKeys(createRandom(seed)), count)
    const hash = name === OURS ? hashByFilter() : hashByFunction(name)
    runRound = () => {
      const start = stopwatch.now()
      for (let i = 0; i < keys.length; i++) hash(keys[i]!)
      return { hash: (elapsedMs(start, stopwatch.now()) * 1e6) / keys.length }
    }
  },
  round: async () => runRound(),
})

/** Our hash in normal use: in a filter with all bits set, so that every index of every key is computed. */
function hashByFilter(): (key: string) => unknown {
  const bloom = createBloom({ bits: BITS, hashes: HASHES })
  bloom.words.fill(-1)
  return key => bloom.has(key)
}

function hashByFunction(name: string): (key: string) => unknown {
  const { writeIndexes } = hashFunction(name)
  const indexes = new Uint32Array(HASHES)
  return key => writeIndexes(key, BITS, indexes)
}
