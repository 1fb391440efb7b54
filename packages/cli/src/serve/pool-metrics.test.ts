import type { MetricFamily } from '@freshet/server'
import { beforeEach, expect, test } from 'vitest'
import { PoolMetrics } from './pool-metrics.js'

/** Workers that have counted so much; those that are silent are not there. */
let counts: Map<number, number>
let workers: number[]
let pool: PoolMetrics

beforeEach(() => {
  counts = new Map([1, 2, 3].map(worker => [worker, worker * 10]))
  workers = [1, 2, 3]
  pool = new PoolMetrics({
    workers: () => workers,
    ask: (worker, question) => {
      const count = counts.get(worker)
      if (count !== undefined) setImmediate(() => pool.answered(question, figures(count)))
    },
    waitMsMax: 50,
  })
})

function figures(count: number): MetricFamily[] {
  const family = { name: 'count', type: 'counter', help: '', together: 'sum' } as const
  const gauge = { name: 'gauge', type: 'gauge', help: '', together: 'sum' } as const
  return [
    { ...family, lines: [['count', count]] },
    { ...gauge, lines: [['gauge', 1]] },
  ]
}

async function collect(asked: number): Promise<Record<string, number>> {
  const families = await pool.collect(asked, figures(counts.get(asked)!))
  return Object.fromEntries(families.flatMap(({ lines }) => lines))
}

const ALL = { count: 60, gauge: 3, 'freshet_workers{answered="yes"}': 3, 'freshet_workers{answered="no"}': 0 }

test('whichever worker is asked, the answer is that of all', async () => {
  expect(await Promise.all([1, 2, 3, 1].map(collect))).toEqual([ALL, ALL, ALL, ALL])
})

test('one that does not answer is told of; its last figures stand in for it', async () => {
  counts.delete(3)
  expect(await collect(1)).toEqual({
    count: 30,
    gauge: 2,
    'freshet_workers{answered="yes"}': 2,
    'freshet_workers{answered="no"}': 1,
  })
  counts.set(3, 30)
  await collect(1)
  counts.delete(3)
  expect(await collect(2)).toMatchObject({ count: 60, gauge: 3, 'freshet_workers{answered="no"}': 1 })
})

test('what a worker counted is counted still when it is dead; what it was is not', async () => {
  await collect(1)
  workers = [1, 3]
  pool.ended(2)
  expect(await collect(1)).toMatchObject({ count: 60, gauge: 2, 'freshet_workers{answered="yes"}': 2 })
  // The one that replaces it begins anew.
  workers = [1, 3, 4]
  counts.set(4, 1)
  expect(await collect(3)).toMatchObject({ count: 61, gauge: 3, 'freshet_workers{answered="yes"}': 3 })
})

test('an answer that comes after the worker has died does not bring it back', async () => {
  await collect(1)
  const collecting = collect(1)
  workers = [1, 3]
  pool.ended(2)
  expect(await collecting).toMatchObject({ count: 60 })
  expect(await collect(3)).toMatchObject({ count: 60 })
})
