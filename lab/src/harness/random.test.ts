import { describe, expect, it } from 'vitest'
import { createRandom } from './random.js'

const DRAWS = 20_000

function meanAndVariance(values: readonly number[]) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  return { mean, variance: values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length }
}

describe('a seeded generator', () => {
  it('repeats itself for the same seed, and only for that', () => {
    const draw = (seed: number) => Array.from({ length: 5 }, createRandom(seed).uint32)
    expect(draw(1)).toEqual(draw(1))
    expect(draw(1)).not.toEqual(draw(2))
    expect(draw(1)).not.toEqual(draw(1 + 2 ** 32))
  })

  it('is still the generator behind the published results', () => {
    expect(Array.from({ length: 3 }, createRandom(20121101).uint32)).toMatchInlineSnapshot(`
      [
        1659620304,
        20810902,
        1172034206,
      ]
    `)
  })

  it('spreads numbers evenly below a limit', () => {
    const random = createRandom(3)
    const counts = new Array<number>(7).fill(0)
    for (let i = 0; i < DRAWS; i++) counts[random.below(7)]!++
    for (const count of counts) expect(Math.abs(count - DRAWS / 7)).toBeLessThan(5 * Math.sqrt(DRAWS / 7))
  })

  it('waits 1 / rate on average', () => {
    const random = createRandom(4)
    const { mean, variance } = meanAndVariance(Array.from({ length: DRAWS }, () => random.exponential(4)))
    expect(mean).toBeCloseTo(0.25, 2)
    expect(variance).toBeCloseTo(1 / 16, 2)
  })

  it.each([0.5, 20, 1500])('counts Poisson events with mean and variance %d', expected => {
    const random = createRandom(5)
    const { mean, variance } = meanAndVariance(Array.from({ length: 5000 }, () => random.poisson(expected)))
    expect(mean / expected).toBeCloseTo(1, 1)
    expect(variance / expected).toBeCloseTo(1, 0)
  })

  it('shuffles without losing anything', () => {
    const items = Array.from({ length: 50 }, (_, i) => i)
    const shuffled = createRandom(6).shuffle(items)
    expect(shuffled).not.toEqual(items)
    expect([...shuffled].sort((a, b) => a - b)).toEqual(items)
  })

  it('forks into streams that do not depend on earlier draws', () => {
    const random = createRandom(7)
    const early = random.fork('part').uint32()
    random.uint32()
    expect(random.fork('part').uint32()).toBe(early)
    expect(random.fork('other').uint32()).not.toBe(early)
  })
})
