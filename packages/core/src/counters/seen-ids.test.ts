import { expect, test } from 'vitest'
import { SeenIds } from './seen-ids.js'

const WINDOW_MS = 1_000_000

function wrongShare(seen: SeenIds): number {
  let wrong = 0
  for (let i = 0; i < 20_000; i++) if (seen.has(`absent-${i}`)) wrong++
  return wrong / 20_000
}

test('it knows all ids of the window, errs seldom, and says how often', () => {
  const seen = new SeenIds({ windowMs: WINDOW_MS, seed: 7n })
  for (let i = 0; i < 300_000; i++) seen.add(`id-${i}`, i)
  for (let i = 0; i < 300_000; i += 37) expect(seen.has(`id-${i}`)).toBe(true)
  const wrong = wrongShare(seen)
  expect(wrong).toBeLessThan(0.01)
  expect(Math.abs(wrong - seen.estimatedRate())).toBeLessThan(0.002)
  expect((8 * seen.sizeBytes()) / 300_000).toBeLessThan(32)
})

test('it does not grow under a steady load', () => {
  const seen = new SeenIds({ windowMs: WINDOW_MS, seed: 7n })
  const sizes: number[] = []
  // Ten windows, of 100,000 ids each.
  for (let i = 0; i < 1_000_000; i++) {
    seen.add(`id-${i}`, 10 * i)
    if (i % 100_000 === 99_999) sizes.push(seen.sizeBytes())
    if (i % 1000 === 0) expect(seen.has(`id-${Math.max(0, i - 99_999)}`)).toBe(true)
  }
  expect((8 * Math.max(...sizes.slice(3))) / 100_000).toBeLessThan(45)
  expect(wrongShare(seen)).toBeLessThan(0.01)
  // When the load is over, it is small again.
  for (let i = 0; i < 40_000; i++) seen.add(`late-${i}`, 10_000_000 + 100 * i)
  expect(seen.sizeBytes()).toBeLessThan(sizes.at(-1)!)
})
