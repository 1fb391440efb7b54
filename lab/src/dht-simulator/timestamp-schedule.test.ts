import { describe, expect, it } from 'vitest'
import { tallySchedules } from '../simulator/tally.js'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.js'
import { runSchedule } from './timestamp-schedule.js'

const SCHEDULES = 400
/** Most bugs show in one of ten schedules, the rarest in one of a few hundred. */
const SCHEDULES_TO_CATCH_MAX = 5000

function tally(bug: PlantedBug | undefined, count: number) {
  const seeds = { first: 1, count, stopsWhenBroken: true }
  return tallySchedules(seed => runSchedule({ seed, protocol: 'tenures', bug }), seeds)
}

describe('under every kind of fault', () => {
  it('with tenures, no timestamp is issued twice or out of order, and no read is falsely current', async () => {
    expect(await tally(undefined, SCHEDULES)).toMatchObject({ schedules: SCHEDULES, broken: 0 })
  })

  it('schedules contain faults, and reads are current again afterwards', async () => {
    const { counts, faults } = await tally(undefined, 100)
    expect(counts.committed).toBeGreaterThan(500)
    expect(counts.currentReads).toBeGreaterThan(500)
    expect(counts.lateCurrentReads / counts.lateReads).toBeGreaterThan(0.9)
    expect(Object.entries(faults).filter(([, times]) => times === 0)).toEqual([])
  })

  it("the paper's protocol alone issues timestamps twice and reports stale values as current", () => {
    const broken = Array.from({ length: 60 }, (_, seed) => runSchedule({ seed, protocol: 'paper' })).flatMap(
      ({ violations }) => violations,
    )
    expect(broken.some(each => / gave .* after /.test(each))).toBe(true)
    expect(broken.some(each => / as current, /.test(each))).toBe(true)
  })

  it.each(Object.keys(PLANTED_BUGS) as PlantedBug[])('a planted bug is caught: %s', async bug => {
    expect((await tally(bug, SCHEDULES_TO_CATCH_MAX)).broken).toBe(1)
  })

  it('a schedule is a function of its seed', () => {
    const run = (seed: number) => runSchedule({ seed, protocol: 'tenures' })
    expect(run(7)).toEqual(run(7))
    expect(run(8)).not.toEqual(run(7))
  })
})
