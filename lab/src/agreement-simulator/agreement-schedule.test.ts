import { expect, test } from 'vitest'
import { tallySchedules } from '../simulator/tally.js'
import { runSchedule } from './agreement-schedule.js'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.js'

const SCHEDULES = 500

function tally(bug: PlantedBug | undefined, count: number) {
  return tallySchedules(seed => runSchedule({ seed, bug }), { first: 0, count, stopsWhenBroken: true })
}

test(`in ${SCHEDULES} schedules no slot holds two values, and no server misses a decided record`, async () => {
  expect(await tally(undefined, SCHEDULES)).toMatchObject({ schedules: SCHEDULES, broken: 0 })
})

test('every kind of fault occurs in some schedule', async () => {
  const { faults } = await tally(undefined, SCHEDULES)
  expect(Object.entries(faults).filter(([, times]) => times === 0)).toEqual([])
})

test('a schedule is a function of its seed', () => {
  expect(runSchedule({ seed: 7 })).toEqual(runSchedule({ seed: 7 }))
  expect(runSchedule({ seed: 8 })).not.toEqual(runSchedule({ seed: 7 }))
})

test.each(Object.keys(PLANTED_BUGS) as PlantedBug[])('a planted bug is caught: %s', async bug => {
  expect((await tally(bug, bug === 'forgotten promise' ? 4 * SCHEDULES : SCHEDULES)).broken).toBe(1)
})
