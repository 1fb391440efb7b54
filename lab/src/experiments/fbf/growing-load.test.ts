import { describe, expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { exponentialLoad, type GrowingLoad, linearLoad, measureLoaded, steadyLoad } from './growing-load.js'

/** Operations per second around a moment, by counting. */
function countedRate(load: GrowingLoad, atMs: number): number {
  let count = 0
  for (let number = 0; load.operationMs(number) < atMs + 500; number++)
    if (load.operationMs(number) >= atMs - 500) count++
  return count
}

describe('a growing load', () => {
  it('that is linear reaches its last rate with its last operation', () => {
    const load = linearLoad({ lastPerSecond: 100, operations: 3000 })
    expect(load.operationMs(3000)).toBeCloseTo(60_000)
    expect(load.reachesMs(100)).toBeCloseTo(60_000)
    expect(countedRate(load, load.reachesMs(50))).toBeCloseTo(50, -0.5)
  })

  it('that is exponential has the stated rate and number of operations', () => {
    const load = exponentialLoad({ firstPerSecond: 1, lastPerSecond: 128, operations: 5000 })
    for (const rate of [16, 64, 100]) expect(Math.abs(countedRate(load, load.reachesMs(rate)) - rate)).toBeLessThan(2)
    expect(load.operationMs(5000)).toBeCloseTo(load.reachesMs(128))
  })
})

it('a filter is measured when its next refresh is due, when future holds one period and the others two', () => {
  const filter = { bits: 6250, hashes: 5, pastFilters: 1, refreshMs: 5000 }
  const settings = { filter, load: steadyLoad(20), untilMs: 61_234, filters: 1, probesPerFilter: 1 }
  const [future, other] = [100, 200].map(keys => (1 - Math.exp((-5 * keys) / 6250)) ** 5)
  const rate = 1 - (1 - future!) * (1 - other! ** 2) * (1 - other!)
  expect(measureLoaded(settings, createRandom(1)).estimated / rate).toBeCloseTo(1, 1)
})
