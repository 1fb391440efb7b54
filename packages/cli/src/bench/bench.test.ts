import { describe, expect, test } from 'vitest'
import { readBenchLine } from './bench-line.js'
import { summaryOf } from './timed-requests.js'

describe('the command line of bench', () => {
  const url = ['--url', 'http://localhost:7700']

  test('uses defaults for options that are not given', () => {
    expect(readBenchLine(url, { FRESHET_TOKEN: 't' })).toEqual({
      ...{ url: 'http://localhost:7700', through: undefined, bucket: 'freshet/bench' },
      ...{ objects: 1000, bytes: 500, clients: 16, durationMs: 5000, token: 't', isJson: false },
    })
  })

  test.each([
    [[], 'Name the server: freshet bench --url http://localhost:7700'],
    [[...url, '--object', '5'], 'bench has no option --object. Did you mean --objects?'],
    [[...url, '--objects', '0'], '--objects takes a whole number from 1 to 100000, not "0".'],
    [[...url, '--through', 'x'], '--through takes an address such as'],
    [[...url, '--duration', 'long'], '--duration takes'],
    [[...url, '--bucket', 'A'], '--bucket: '],
  ])('refuses %j', (argv, message) => {
    expect(() => readBenchLine(argv, {})).toThrow(message)
  })
})

test('percentiles are measured times', () => {
  const times = Array.from({ length: 1000 }, (_, i) => 1000 - i)
  expect(summaryOf(times, 2000)).toEqual({ requests: 1000, perSecond: 500, p50: 500, p90: 900, p99: 990, max: 1000 })
  expect(summaryOf([7], 1000)).toMatchObject({ p50: 7, p99: 7, max: 7 })
  expect(summaryOf([], 1000)).toMatchObject({ requests: 0, p50: 0 })
})
