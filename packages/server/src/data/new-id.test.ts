import { expect, test } from 'vitest'
import { createIdMaker } from './new-id.js'

test('ids sort in the order they were made, also within a millisecond and when the clock goes back', () => {
  const times = [5, 5, 5, 6, 4, 4, 7, 7]
  let made = 0
  const newId = createIdMaker(() => times[Math.min(made++, 7)]!)
  const ids = Array.from({ length: 5000 }, () => newId())
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(5000)
})

test('an id begins with its time', () => {
  const newId = createIdMaker(() => 1_700_000_000_000)
  expect(newId()).toMatch(/^01hf7yat00[0-9a-hjkmnp-tv-z]{16}$/)
})
