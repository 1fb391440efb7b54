import { expect, test } from 'vitest'
import { PLANTED_BUGS, type PlantedBug, runAgreement } from './agreement-schedule.js'

const SCHEDULES = 500

/** The seeds in which a promise was broken. */
function broken(bug: PlantedBug | undefined, schedules: number): number[] {
  return Array.from({ length: schedules }, (_, seed) => seed).filter(
    seed => runAgreement({ seed, bug }).violations.length > 0,
  )
}

test(`in ${SCHEDULES} schedules no slot holds two things, and nobody overlooks what was decided`, () => {
  expect(broken(undefined, SCHEDULES)).toEqual([])
})

test('the same seed is the same schedule', () => {
  expect(runAgreement({ seed: 7 })).toEqual(runAgreement({ seed: 7 }))
})

test.each(PLANTED_BUGS)('a rule that is broken on purpose is missed: %s', bug => {
  expect(broken(bug, bug === 'forgotten promise' ? 4 * SCHEDULES : SCHEDULES).length).toBeGreaterThan(0)
})
