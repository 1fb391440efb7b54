/** Judges the flips of one data file, in a process of its own: whatever LMDB does with a damaged page ends this one alone. */
import { DamagedFiles, type Flip } from '@freshet/engines/under-test/damaged-files'
import { createRandom } from '../../harness/random.js'

const [path = '', seed = '', flips = '', from = ''] = process.argv.slice(2)

const random = createRandom(Number(seed))
const below = (limit: number) => random.below(limit)
const files = await DamagedFiles.make(path, below, 400)
const all: readonly Flip[] = Array.from({ length: Number(flips) }, () => files.randomFlip(below))
// Each by itself, and then all of them together.
const rounds = [...all.map(flip => [flip]), all]
for (const [i, round] of rounds.entries()) {
  if (i < Number(from)) continue
  process.send!({ i, ...(await files.judge(round)) })
}
process.disconnect()
