import { describe, expect, it } from 'vitest'
import type { CellsResult } from './cells-result.js'
import { runCellsSchedule } from './cells-schedule.js'
import { PLANTED_BUGS, type PlantedBug } from './planted-bugs.js'

const SCHEDULES = 250
/** Most are seen in one of a hundred schedules, the rarest in one of five hundred. */
const SCHEDULES_TO_CATCH_MAX = 4000
/** On a machine that is busy with much else. */
const CATCH_MS_MAX = 600_000

async function firstBroken(bug: PlantedBug | undefined, schedules: number): Promise<string | undefined> {
  for (let seed = 1; seed <= schedules; seed++) {
    const { violations } = await runCellsSchedule({ seed, bug })
    if (violations.length > 0) return `seed ${seed}: ${violations.join('; ')}`
  }
  return undefined
}

describe('while everything goes wrong', () => {
  it(
    'nothing acknowledged is lost, nothing is falsely current, and replicas are alike in the end',
    async () => {
      expect(await firstBroken(undefined, SCHEDULES)).toBeUndefined()
    },
    CATCH_MS_MAX,
  )

  it('something happens in a schedule, and afterwards reads are current again', async () => {
    const results: CellsResult[] = []
    for (let seed = 1; seed <= 150; seed++) results.push(await runCellsSchedule({ seed }))
    const sum = (of: (result: CellsResult) => number) => results.reduce((total, each) => total + of(each), 0)
    expect(sum(({ acknowledged }) => acknowledged)).toBeGreaterThan(500)
    expect(sum(({ currentReads }) => currentReads)).toBeGreaterThan(300)
    expect(sum(({ collected }) => collected)).toBeGreaterThan(5)
    expect(sum(each => each.lateCurrentReads) / sum(each => each.lateReads)).toBeGreaterThan(0.9)
    for (const fault of Object.keys(results[0]!.faults) as (keyof CellsResult['faults'])[]) {
      expect([fault, sum(({ faults }) => faults[fault])]).not.toEqual([fault, 0])
    }
  })

  it.each(PLANTED_BUGS)(
    'a planted bug is caught: %s',
    async bug => {
      expect(await firstBroken(bug, SCHEDULES_TO_CATCH_MAX)).toBeDefined()
    },
    CATCH_MS_MAX,
  )

  it('a schedule is a function of its seed', async () => {
    expect(await runCellsSchedule({ seed: 7 })).toEqual(await runCellsSchedule({ seed: 7 }))
    expect(await runCellsSchedule({ seed: 8 })).not.toEqual(await runCellsSchedule({ seed: 7 }))
  })
})
