import { describe, expect, test } from 'vitest'
import { readReport } from './schemathesis.js'

const FAILURES = [
  { type: 'ServerError', title: 'Server error', count: 2, operations: ['GET /a'] },
  { type: 'JsonSchemaError', title: 'Response violates schema', count: 3, operations: ['GET /a', 'PUT /b'] },
]

function reportOf(more: object): string {
  return JSON.stringify({ complete: true, test_cases: { generated: 70 }, failures: FAILURES, errors: [], ...more })
}

describe('a report of schemathesis', () => {
  test('lists answers with a 5xx, and answers that are not as documented', () => {
    expect(readReport(reportOf({}), '')).toEqual({
      ...{ cases: 70, serverErrors: 2, violations: 3 },
      found: ['Server error: GET /a', 'Response violates schema: GET /a, PUT /b'],
    })
  })

  test.each([
    ['was not written', undefined],
    ['is of a run that was cut off', reportOf({ complete: false })],
    ['has errors of schemathesis itself', reportOf({ errors: [{ title: 'Network Error' }] })],
  ])('that %s is not a result', (_, text) => {
    expect(() => readReport(text, 'what it printed')).toThrow('what it printed')
  })
})
