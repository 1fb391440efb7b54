import { expect, it } from 'vitest'
import { createRecyclableBloom } from './recyclable-bloom.js'

it('a recyclable filter empties itself at its target rate, and then denies keys that it knew', () => {
  const filter = createRecyclableBloom({ bits: 1500, hashes: 3, falsePositiveRateMax: 0.05 })
  const inserted: string[] = []
  for (let i = 0; filter.recycled === 0; i++) if (filter.insert(`key ${i}`)) inserted.push(`key ${i}`)
  expect(filter.has(inserted.at(-1)!)).toBe(true)
  expect(inserted.slice(0, -1).filter(key => !filter.has(key)).length).toBeGreaterThan(100)
  expect(filter.estimatedRate()).toBeLessThan(0.05)
})

it('a recyclable filter inserts a key once', () => {
  const filter = createRecyclableBloom({ bits: 1500, hashes: 3, falsePositiveRateMax: 0.05 })
  expect([filter.insert('a'), filter.insert('a')]).toEqual([true, false])
})
