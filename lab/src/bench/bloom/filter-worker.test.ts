import { describe, expect, it } from 'vitest'
import type { Stopwatch } from '../../harness/stopwatch.js'
import { type FilterContender, stringContender } from './contender.js'
import { createFilterWorker, measureRound } from './filter-worker.js'
import { nodeContenders } from './node-contenders.js'
import { portableContenders } from './portable-contenders.js'

/** An exact set; every operation advances its clock. */
function clockedSet(nanoseconds: { add: number; has: number }) {
  const set = new Set<unknown>()
  let timeMs = 0
  const spend = (ns: number) => {
    timeMs += ns / 1e6
  }
  const contender: FilterContender<Set<unknown>, string> = stringContender({
    name: 'clocked',
    create: () => set,
    add(filter, key) {
      spend(nanoseconds.add)
      filter.add(key)
    },
    has(filter, key) {
      spend(nanoseconds.has)
      return filter.has(key)
    },
    memoryBits: () => 80,
  })
  const stopwatch: Stopwatch = { now: () => ({ wallMs: timeMs, processorMs: timeMs }) }
  return { contender, set, stopwatch }
}

const settings = { entries: 1000, rate: 0.01, seed: 1, roundMsMax: 10_000 }

describe('a round', () => {
  it('reports the nanoseconds per key of each measure', () => {
    const { contender, set, stopwatch } = clockedSet({ add: 70, has: 30 })
    const keys = { present: ['a', 'b', 'c'], absent: ['d', 'e'] }
    const readings = measureRound({ contender, create: () => set, ...keys, stopwatch })
    expect(readings.add).toBeCloseTo(70)
    expect(readings.hit).toBeCloseTo(30)
    expect(readings.miss).toBeCloseTo(30)
  })
})

describe('a worker', () => {
  it('measures the rate, the memory and the lost keys', async () => {
    const forgetful = stringContender({
      name: 'forgetful',
      create: () => undefined,
      add: () => {},
      has: (_, key) => key.endsWith('0'),
      memoryBits: () => 10_000,
    })
    const worker = createFilterWorker({ forgetful: async () => forgetful })
    const details = await worker.prepare({ ...settings, contender: 'forgetful' })
    expect(details).toMatchObject({ entries: 1000, bitsPerEntry: 10 })
    expect(details.measuredRate).toBeCloseTo(1 / 16, 1)
    expect(details.falseNegatives).toBeGreaterThan(900)
    expect(Object.keys(await worker.round())).toEqual(['add', 'hit', 'miss'])
  })

  it('gives a slow filter fewer keys', async () => {
    const slow = stringContender({ name: 'slow', create: () => undefined, add: spin, has: spin, memoryBits: () => 0 })
    const worker = createFilterWorker({ slow: async () => slow })
    const { entries } = await worker.prepare({ ...settings, contender: 'slow', entries: 100_000, roundMsMax: 20 })
    expect(entries).toBeLessThan(5000)
  })

  it('gives no filter more keys than it can hold', async () => {
    const small = { ...clockedSet({ add: 0, has: 0 }).contender, entriesMax: 300 }
    const worker = createFilterWorker({ small: async () => small })
    expect((await worker.prepare({ ...settings, contender: 'small' })).entries).toBe(300)
  })
})

describe.each(Object.entries({ ...portableContenders, ...nodeContenders }))('%s', (name, load) => {
  it('uses each library as intended: every added key is present', async () => {
    const worker = createFilterWorker({ [name]: load })
    const details = await worker.prepare({ ...settings, contender: name, entries: 200 })
    expect(details.falseNegatives).toBe(0)
    expect(details.measuredRate).toBeLessThan(0.2)
    expect(details.bitsPerEntry).toBeGreaterThan(9)
  })
})

function spin(): boolean {
  const until = performance.now() + 0.02
  while (performance.now() < until);
  return true
}
