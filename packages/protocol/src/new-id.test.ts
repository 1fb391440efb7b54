import { expect, test } from 'vitest'
import { createIdMaker } from './new-id.js'

let drawn = 0
const randomBytes = (count: number) =>
  Uint8Array.from({ length: count }, () => {
    drawn = (drawn * 137 + 41) % 256
    return drawn
  })

test('ids sort in the order they were made, even within a millisecond and when the clock goes back', () => {
  const times = [5, 5, 5, 6, 4, 4, 7, 7]
  let made = 0
  const newId = createIdMaker({ nowMs: () => times[Math.min(made++, 7)]!, randomBytes })
  const ids = Array.from({ length: 5000 }, () => newId())
  expect(ids).toEqual([...ids].sort())
  expect(new Set(ids).size).toBe(5000)
})

test('an id begins with its time', () => {
  const newId = createIdMaker({ nowMs: () => 1_700_000_000_000, randomBytes })
  expect(newId()).toMatch(/^01hf7yat00[0-9a-hjkmnp-tv-z]{16}$/)
})

test('an id ends with the random bytes, except for the last bit', () => {
  const bytes = Uint8Array.from([0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0x42])
  const newId = createIdMaker({ nowMs: () => 1, randomBytes: () => bytes })
  expect([newId(), newId()]).toEqual(['00000000018000000000000011', '00000000018000000000000012'])
})
