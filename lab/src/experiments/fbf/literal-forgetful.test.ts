import { describe, expect, it } from 'vitest'
import { LiteralForgetful, type LiteralOptions } from './literal-forgetful.js'

const FIXED: LiteralOptions = { size: { bits: 6250, hashes: 5 }, pastFilters: 3, refreshMs: 1000, oldestAlone: true }

/** Inserts an id every 10 ms and returns how many of those younger than (N + 1) t are denied at some time. */
function deniedIn(filter: LiteralForgetful, reachMs: number, perTick: (nowMs: number) => number): Set<number> {
  const insertedMs: number[] = []
  const denied = new Set<number>()
  for (let nowMs = 0; nowMs < 20_000; nowMs += 10) {
    for (let i = perTick(nowMs); i > 0; i--) filter.insert(insertedMs.push(nowMs) - 1, nowMs)
    if (nowMs % 500 !== 0) continue
    insertedMs.forEach((atMs, id) => {
      if (nowMs - atMs < reachMs && !filter.has(id, nowMs)) denied.add(id)
    })
  }
  return denied
}

describe("the paper's algorithms to the letter", () => {
  it('know every id for (N + 1) t if the oldest filter is checked alone', () => {
    expect(deniedIn(new LiteralForgetful(FIXED), 4000, () => 1)).toEqual(new Set())
  })

  it('deny ids that only the oldest filter still holds if it is not checked alone, as in algorithm 2 as printed', () => {
    const filter = new LiteralForgetful({ ...FIXED, oldestAlone: false })
    expect(deniedIn(filter, 4000, () => 1).size).toBeGreaterThan(500)
  })

  it('deny ids when empty filters are added behind the oldest one, as in algorithm 3', () => {
    const options = { ...FIXED, pastFilters: 1, refreshMs: 3000, targetRate: 0.01 }
    const surge = (nowMs: number) => (nowMs < 8000 ? 1 : 4)
    expect(deniedIn(new LiteralForgetful(options), 5000, surge).size).toBeGreaterThan(50)
    const { targetRate, ...unadapted } = options
    expect(deniedIn(new LiteralForgetful(unadapted), 5000, surge).size).toBe(0)
  })
})
