import { describe, expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { createChoice, idOf, type Spread, socialObject } from './social-network.js'

const DRAWS = 50_000

/** How often each of 3,000 objects is chosen, the most popular first. */
function counts(spread: Spread, seed = 1): number[] {
  const choose = createChoice(spread, 3000, createRandom(seed))
  const random = createRandom(2)
  const counted = new Array<number>(3000).fill(0)
  for (let i = 0; i < DRAWS; i++) counted[choose(random)]!++
  return counted.sort((one, other) => other - one)
}

describe('the chosen objects', () => {
  it('are popular by the law of Zipf', () => {
    const [first, second, third] = counts('zipf')
    // The sum of 1/n^0.99 for 3,000 objects is 8.9.
    expect(first! / DRAWS).toBeCloseTo(1 / 8.9, 2)
    expect(first! / second!).toBeCloseTo(2, 0)
    expect(first! / third!).toBeCloseTo(3, 0)
  })

  it('are equally likely with a uniform choice', () => {
    const uniform = counts('uniform')
    expect(uniform[0]! / DRAWS).toBeLessThan(0.002)
    expect(uniform.at(-1)).toBeGreaterThan(0)
  })

  it('are popular independently of their ids', () => {
    const mostPopular = (seed: number) => {
      const choose = createChoice('zipf', 3000, createRandom(seed))
      return choose({ ...createRandom(0), float: () => 0 })
    }
    expect(mostPopular(1)).toBe(mostPopular(1))
    expect(mostPopular(1)).not.toBe(mostPopular(2))
  })

  it('have some hundred bytes, and identify their write', () => {
    const bytes = JSON.stringify(socialObject(7, 12)).length
    expect(bytes).toBeGreaterThan(400)
    expect(bytes).toBeLessThan(600)
    expect(socialObject(7, 12)).toMatchObject({ number: 12, author: idOf(0) })
  })
})
