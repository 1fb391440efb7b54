import { expect, it } from 'vitest'
import { SEED_DEFAULT } from '../../harness/arguments.js'
import type { Experiment, ExperimentResult } from '../../harness/experiment.js'
import { createRandom } from '../../harness/random.js'
import { fbf8 } from './fbf-8.js'
import { fbf9 } from './fbf-9.js'
import { fbf10 } from './fbf-10.js'
import { fbf11 } from './fbf-11.js'
import { fbf12 } from './fbf-12.js'
import { fbf13 } from './fbf-13.js'
import { fbf16 } from './fbf-16.js'

function runQuick(experiment: Experiment, seed: number) {
  return experiment.run({ quick: true, seed, random: createRandom(seed), progress: () => {} })
}

const results = new Map<Experiment, Promise<ExperimentResult>>()

/** Runs each experiment once, for all tests. */
function resultOf(experiment: Experiment): Promise<ExperimentResult> {
  const result = results.get(experiment) ?? runQuick(experiment, SEED_DEFAULT)
  results.set(experiment, result)
  return result
}

const all = { fbf8, fbf9, fbf10, fbf11, fbf12, fbf13, fbf16 }

it.each(Object.entries(all))('%s: every verdict holds', async (_, experiment) => {
  const { verdicts, tables, plots } = await resultOf(experiment)
  expect(verdicts.filter(({ holds }) => !holds)).toEqual([])
  expect(verdicts.length).toBeGreaterThan(0)
  expect(tables.length).toBeGreaterThan(0)
  expect(plots.length).toBeGreaterThan(0)
})

it('the same seed gives the same result, and another seed a different one', async () => {
  const first = await resultOf(fbf9)
  const [again, other] = [await runQuick(fbf9, SEED_DEFAULT), await runQuick(fbf9, SEED_DEFAULT + 1)]
  expect(again).toEqual(first)
  expect(other.points).not.toEqual(first.points)
})

it('the optimised check errs about 92% less at 300 elements, and three filters err about six times as often as 24', async () => {
  expect((await resultOf(fbf8)).summary.reductionCalculated).toBeCloseTo(0.923, 2)
  expect((await resultOf(fbf12)).summary.factor).toBeCloseTo(5.8, 0)
})
