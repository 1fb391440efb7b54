import { FilterError } from '@freshet/bloom'
import { describe, expect, test } from 'vitest'
import { checkForget, forgetRun, TICKS_PER_WINDOW, WINDOWS_SIMULATED, withinWindow } from './forget-run.js'

const OPTIONS = { windowMs: 60_000, keysPerSecond: 40, falsePositiveRateMax: 0.02 }

describe('a forget run', () => {
  const { timeMs, rotating, forgetful } = [...forgetRun({ ...OPTIONS, seed: 1 })].at(-1)!

  test('lasts the stated number of windows', () => {
    expect(timeMs).toBe(WINDOWS_SIMULATED * OPTIONS.windowMs)
  })

  test.each([
    ['rotating', rotating],
    ['forgetful', forgetful],
  ])('the %s filter denies no key within the window, and forgets nearly all keys of twice that age', (_, record) => {
    const { asked, known } = withinWindow(record)
    expect(asked).toBeGreaterThan(100_000)
    expect(known).toBe(asked)
    const oldest = record.ages.at(2 * TICKS_PER_WINDOW - 1)!
    expect(oldest.known / oldest.asked).toBeLessThan(0.12)
  })

  test('both filters have the same memory, up to a few words', () => {
    expect(Math.abs(rotating.sizeBytes / forgetful.sizeBytes - 1)).toBeLessThan(0.02)
  })

  test('the rotating filter stays below the target, and the forgetful filter cannot in the same memory', () => {
    expect(rotating.falsePositives / rotating.probes).toBeLessThan(OPTIONS.falsePositiveRateMax)
    expect(forgetful.falsePositives / forgetful.probes).toBeGreaterThan(OPTIONS.falsePositiveRateMax)
  })
})

test('refuses loads that the page does not offer, and sizes that the library refuses', () => {
  for (const keysPerSecond of [0, 19, 2001, Number.NaN]) {
    expect(() => checkForget({ ...OPTIONS, keysPerSecond })).toThrow(RangeError)
  }
  expect(() => checkForget({ ...OPTIONS, falsePositiveRateMax: 0 })).toThrow(FilterError)
})
