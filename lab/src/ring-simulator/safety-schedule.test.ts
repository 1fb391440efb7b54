import { describe, expect, it } from 'vitest'
import { type PlantedBug, runSchedule } from './safety-schedule.js'

const SCHEDULES = 400
/** Most are seen in one of ten schedules, the rarest in one of a few hundred. */
const SCHEDULES_TO_CATCH_MAX = 5000

function firstBroken(bug: PlantedBug | undefined, schedules: number): string | undefined {
  for (let seed = 1; seed <= schedules; seed++) {
    const { violations } = runSchedule({ seed, protocol: 'tenures', bug })
    if (violations.length > 0) return `seed ${seed}: ${violations.join('; ')}`
  }
  return undefined
}

describe('while everything goes wrong', () => {
  it('with tenures no timestamp is given twice or out of order, and no read is falsely current', () => {
    expect(firstBroken(undefined, SCHEDULES)).toBeUndefined()
  })

  it('something happens in a schedule, and afterwards reads are current again', () => {
    const results = Array.from({ length: 100 }, (_, i) => runSchedule({ seed: i, protocol: 'tenures' }))
    const sum = (of: (result: (typeof results)[number]) => number) =>
      results.reduce((total, each) => total + of(each), 0)
    expect(sum(({ committed }) => committed)).toBeGreaterThan(500)
    expect(sum(({ currentReads }) => currentReads)).toBeGreaterThan(500)
    expect(sum(each => each.lateCurrentReads) / sum(each => each.lateReads)).toBeGreaterThan(0.9)
    for (const fault of Object.keys(results[0]!.faults) as (keyof (typeof results)[number]['faults'])[]) {
      expect([fault, sum(({ faults }) => faults[fault])]).not.toEqual([fault, 0])
    }
  })

  it("the paper's protocol alone gives timestamps twice and says of stale values that they are current", () => {
    const broken = Array.from({ length: 60 }, (_, seed) => runSchedule({ seed, protocol: 'paper' })).flatMap(
      ({ violations }) => violations,
    )
    expect(broken.some(each => / gave .* after /.test(each))).toBe(true)
    expect(broken.some(each => / as current, /.test(each))).toBe(true)
  })

  it.each(['no wait', 'kept counter', 'early answer', 'forgetful guard'] as const)(
    'a planted bug is caught: %s',
    bug => {
      expect(firstBroken(bug, SCHEDULES_TO_CATCH_MAX)).toBeDefined()
    },
  )

  it('a schedule is a function of its seed', () => {
    const run = (seed: number) => runSchedule({ seed, protocol: 'tenures' })
    expect(run(7)).toEqual(run(7))
    expect(run(8)).not.toEqual(run(7))
  })
})
