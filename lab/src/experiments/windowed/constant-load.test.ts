import { describe, expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { runConstantLoad } from './constant-load.js'
import { type ContenderOptions, contender, type WindowedContender } from './contenders.js'

const LOAD = { falsePositiveRateMax: 0.01, windowMs: 5544, loadFactor: 1, filters: 1, probesPerFilter: 50_000 }
const rotating = contender('rotating')

function altered(change: (options: ContenderOptions) => ContenderOptions): WindowedContender {
  return { ...rotating, create: options => rotating.create(change(options)) }
}

describe('a run at constant load', () => {
  it('finds nothing wrong with a filter that keeps its promise', () => {
    const outcome = runConstantLoad({ ...LOAD, contender: rotating }, createRandom(1))
    expect(outcome).toMatchObject({ denied: 0, refused: 0 })
    expect(outcome.rate.rate).toBeLessThan(0.0115)
  })

  it('catches a filter that errs too often', () => {
    const sloppy = altered(options => ({ ...options, falsePositiveRateMax: 0.02 }))
    expect(runConstantLoad({ ...LOAD, contender: sloppy }, createRandom(1)).rate.rate).toBeGreaterThan(0.015)
  })

  it('catches a filter that forgets early', () => {
    const hasty = altered(options => ({ ...options, windowMs: options.windowMs / 2 }))
    const promised = { ...hasty, create: (options: ContenderOptions) => pretending(hasty, options) }
    expect(runConstantLoad({ ...LOAD, contender: promised }, createRandom(1)).denied).toBeGreaterThan(1000)
  })

  it('counts the keys that a filter refuses', () => {
    const outcome = runConstantLoad({ ...LOAD, contender: contender('aged-cuckoo'), loadFactor: 2 }, createRandom(1))
    expect(outcome.refused).toBeGreaterThan(0.35)
    expect(outcome.denied).toBe(0)
  })
})

/** A filter with a shorter window than it claims. */
function pretending(hasty: WindowedContender, options: ContenderOptions) {
  const filter = hasty.create(options)
  return {
    windowMs: options.windowMs,
    add: filter.add.bind(filter),
    has: filter.has.bind(filter),
    estimatedRate: filter.estimatedRate.bind(filter),
    sizeBytes: filter.sizeBytes.bind(filter),
  }
}
