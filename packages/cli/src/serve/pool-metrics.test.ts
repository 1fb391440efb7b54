import type { MetricFamily } from '@freshet/server'
import { beforeEach, expect, test } from 'vitest'
import { PoolMetrics } from './pool-metrics.js'

/** The count of each worker; a worker that does not answer has no entry. */
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

test('any worker answers with the metrics of all', async () => {
  expect(await Promise.all([1, 2, 3, 1].map(collect))).toEqual([ALL, ALL, ALL, ALL])
})

test('a worker that does not answer is counted as silent, and its last figures are used', async () => {
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

test('the counters of a dead worker are kept, its gauges are not', async () => {
  await collect(1)
  workers = [1, 3]
  pool.ended(2)
  expect(await collect(1)).toMatchObject({ count: 60, gauge: 2, 'freshet_workers{answered="yes"}': 2 })
  // The worker that replaces it starts from zero.
  workers = [1, 3, 4]
  counts.set(4, 1)
  expect(await collect(3)).toMatchObject({ count: 61, gauge: 3, 'freshet_workers{answered="yes"}': 3 })
})

test('an answer that arrives after the worker has died does not bring it back', async () => {
  await collect(1)
  const collecting = collect(1)
  workers = [1, 3]
  pool.ended(2)
  expect(await collecting).toMatchObject({ count: 60 })
  expect(await collect(3)).toMatchObject({ count: 60 })
})
