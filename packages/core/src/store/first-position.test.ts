import { expect, test } from 'vitest'
import { positionAtTime } from './first-position.js'

test('the positions of a day are the hundred-thousandths of a second since 2026', () => {
  expect(positionAtTime(Date.UTC(2026, 0, 1))).toBe(0)
  expect(positionAtTime(Date.UTC(2026, 0, 1, 0, 0, 1))).toBe(100_000)
  expect(positionAtTime(Date.UTC(2026, 0, 2))).toBe(24 * 60 * 60 * 100_000)
})

test('it is a valid position whatever the clock says: whole, not negative, and of at most 15 digits for three centuries', () => {
  expect(positionAtTime(0)).toBe(0)
  expect(positionAtTime(Date.UTC(2026, 0, 1) + 1.239)).toBe(123)
  expect(positionAtTime(Date.UTC(2340, 0, 1))).toBeLessThan(1e15)
})
