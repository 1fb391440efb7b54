import { expect, test } from 'vitest'
import { latencyMs, parseMetrics, readsByWay, total } from './metrics.js'

const TEXT = `# HELP freshet_requests_total Requests answered.
# TYPE freshet_requests_total counter
freshet_requests_total{route="/db/{namespace}/{bucket}/{id}",method="GET",status="200"} 12
freshet_requests_total{route="/metrics",method="GET",status="200"} 3
freshet_log_position 2762743322502
`

const histogram = (quick: number, slow: number) =>
  parseMetrics(
    [
      `freshet_request_seconds_bucket{route="/db",le="0.001"} ${quick}`,
      `freshet_request_seconds_bucket{route="/db",le="0.5"} ${quick + slow}`,
      `freshet_request_seconds_bucket{route="/db",le="+Inf"} ${quick + slow}`,
      'freshet_request_seconds_bucket{route="/metrics",le="+Inf"} 9',
    ].join('\n'),
  )

test('figures are read with their labels, and added up', () => {
  const figures = parseMetrics(TEXT)
  expect(figures).toHaveLength(3)
  expect(total(figures, 'freshet_requests_total')).toBe(15)
  expect(total(figures, 'freshet_requests_total', ({ route }) => route === '/metrics')).toBe(3)
  expect(total(figures, 'freshet_log_position')).toBe(2_762_743_322_502)
})

test('latencies are those of client requests between two readings', () => {
  expect(latencyMs(histogram(100, 0), histogram(109, 1), 0.5)).toBe(1)
  expect(latencyMs(histogram(100, 0), histogram(109, 1), 0.99)).toBe(500)
  expect(latencyMs(histogram(100, 0), histogram(100, 0), 0.5)).toBeUndefined()
})

test('reads are counted by the cache that asked, the most first', () => {
  const line = (via: string, status: number, value: number) =>
    `freshet_fetches_total{via="${via}",status="${status}"} ${value}`
  const lines = [line('direct', 200, 3), line('direct', 304, 0), line('edge (Varnish)', 200, 6), line('none', 200, 0)]
  const figures = parseMetrics([...lines, line('edge (Varnish)', 304, 2)].join('\n'))
  expect(readsByWay(figures)).toEqual([
    { via: 'edge (Varnish)', reads: 8, unchanged: 2 },
    { via: 'direct', reads: 3, unchanged: 0 },
  ])
})
