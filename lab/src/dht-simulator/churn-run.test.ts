import { expect, it } from 'vitest'
import { PAPER, runChurn } from './churn-run.js'

const SMALL = { ...PAPER, peers: 200, departuresPerSecond: 0.05, durationMs: 1_800_000, items: 20 }

it('the same seed gives the same result, and another seed a different one', () => {
  const first = runChurn({ ...SMALL, seed: 1 })
  expect(runChurn({ ...SMALL, seed: 1 })).toEqual(first)
  expect(runChurn({ ...SMALL, seed: 2 }).queries).not.toEqual(first.queries)
})

it('each algorithm queries and finds every item once', () => {
  const { queries } = runChurn(SMALL)
  for (const algorithm of ['direct', 'indirect', 'brk']) {
    const own = queries.filter(query => query.algorithm === algorithm)
    expect(own.length).toBe(SMALL.items)
    expect(own.filter(query => query.isLatest).length).toBe(SMALL.items)
    expect(own.every(query => query.isCurrent === (algorithm !== 'brk'))).toBe(true)
  }
})
