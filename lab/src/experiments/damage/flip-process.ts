/** Judges the flips of one data file, in its own process: if LMDB crashes on a damaged page, only this process ends. */
import { DamagedFiles, type Flip } from '@freshet/engines/under-test/damaged-files'
import { createRandom } from '../../harness/random.js'

const [path = '', seed = '', flips = '', from = ''] = process.argv.slice(2)

const random = createRandom(Number(seed))
const below = (limit: number) => random.below(limit)
const files = await DamagedFiles.make(path, below, 400)
const all: readonly Flip[] = Array.from({ length: Number(flips) }, () => files.randomFlip(below))
// Each flip by itself, and then all of them together.
const rounds = [...all.map(flip => [flip]), all]
for (const [i, round] of rounds.entries()) {
  if (i < Number(from)) continue
  process.send!({ i, ...(await files.judge(round)) })
}
process.disconnect()
