import { expect, test } from 'vitest'
import { addUpMetrics, type Gauge, Metrics, renderMetrics } from './metrics.js'

const ROUTE = '/db/{namespace}/{bucket}/{id}'

/** The metrics of a process that answered this many reads, each in this many milliseconds. */
function counted(reads: number, tookMs: number, gauges: readonly Gauge[] = []) {
  const metrics = new Metrics()
  for (let i = 0; i < reads; i++) metrics.countRequest(ROUTE, 'GET', 200, tookMs)
  const read = metrics.read(gauges)
  metrics.close()
  return read
}

test('counters and histograms of several processes are added, also those that only some processes have', () => {
  const other = new Metrics()
  other.countRequest('/commit', 'POST', 200, 3)
  other.commits.value = 5
  const text = renderMetrics(addUpMetrics([counted(2, 0.3), counted(3, 3), other.read([])]))
  other.close()
  for (const line of [
    `freshet_requests_total{route="${ROUTE}",method="GET",status="200"} 5`,
    'freshet_requests_total{route="/commit",method="POST",status="200"} 1',
    `freshet_request_seconds_bucket{route="${ROUTE}",le="0.0005"} 2`,
    `freshet_request_seconds_bucket{route="${ROUTE}",le="0.005"} 5`,
    `freshet_request_seconds_bucket{route="${ROUTE}",le="+Inf"} 5`,
    `freshet_request_seconds_count{route="${ROUTE}"} 5`,
    'freshet_request_seconds_count{route="/commit"} 1',
    'freshet_commits_total 5',
  ]) {
    expect(text).toContain(`\n${line}\n`)
  }
})

test('the help of a gauge says how several processes are combined: their sum, or the largest', () => {
  const gauges = (waiting: number, position: number): Gauge[] => [
    { name: 'waiting', help: 'Requests waiting.', together: 'sum', value: () => waiting },
    { name: 'position', help: 'How far.', value: () => position },
    { name: 'cut', help: 'Requests cut.', type: 'counter', value: () => [{ labels: 'a="b"', value: waiting }] },
  ]
  const text = renderMetrics(addUpMetrics([counted(0, 0, gauges(1, 7)), counted(0, 0, gauges(2, 5))]))
  for (const lines of [
    '# HELP waiting Requests waiting. Of several workers, their sum.\n# TYPE waiting gauge\nwaiting 3',
    '# HELP position How far. Of several workers, the largest.\n# TYPE position gauge\nposition 7',
    '# HELP cut Requests cut.\n# TYPE cut counter\ncut{a="b"} 3',
  ]) {
    expect(text).toContain(`\n${lines}\n`)
  }
})

test('all lines of a name are together, below a single help and type', () => {
  const families = addUpMetrics([counted(1, 1), counted(1, 1)])
  const names = renderMetrics(families)
    .split('\n')
    .filter(line => line.startsWith('# HELP '))
    .map(line => line.split(' ')[2])
  expect(new Set(names).size).toBe(names.length)
  expect(addUpMetrics([families])).toEqual(families)
})
