import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { KINDS } from './http-cache-tests.js'
import { RELIED_UPON } from './relied-upon.js'
import { SUITE_TESTS, toOutcomes } from './run-suite.js'

const DOCS = new URL('../../../../docs/reference/', import.meta.url)

function kept(name: string): string {
  return readFileSync(new URL(name, DOCS), 'utf8')
}

describe('what we rely on', () => {
  test.each(RELIED_UPON)('$id is a test of the suite', ({ id }) => {
    expect(SUITE_TESTS.has(id)).toBe(true)
  })

  test('is listed in docs/reference/http-cache-tests.md, as the stored results say', () => {
    const results = JSON.parse(kept('http-cache-tests.json')) as Record<string, Record<string, string>>
    const lines = kept('http-cache-tests.md').split('\n')
    for (const { id } of RELIED_UPON) {
      const outcomes = KINDS.map(kind => results[kind]![id])
      const line = lines.find(each => each.startsWith(`| \`${id}\` |`))
      expect(line, id).toContain(`| ${outcomes.join(' | ')} |`)
    }
  })
})

describe('the outcome of a test', () => {
  const outcomeOf = (id: string, raw: Parameters<typeof toOutcomes>[0]) => toOutcomes(raw)[id]
  const failed = ['Assertion', 'Response 2 comes from cache'] as const

  test('is pass or fail where caches must or should behave in a certain way', () => {
    expect(outcomeOf('query-args-different', { 'query-args-different': true })).toBe('pass')
    expect(outcomeOf('query-args-different', { 'query-args-different': failed })).toBe('fail')
  })

  test('is yes or no where the suite only asks for the behaviour', () => {
    expect(outcomeOf('stale-close', { 'stale-close': true })).toBe('yes')
    expect(outcomeOf('stale-close', { 'stale-close': failed })).toBe('no')
  })

  test('is unclear if it was not run, could not be set up, or depends on a failed test', () => {
    expect(outcomeOf('stale-close', {})).toBe('unclear')
    expect(outcomeOf('stale-close', { 'stale-close': ['Setup', 'Response 1 status is 503, not 200'] })).toBe('unclear')
    const raw = { 'stale-close': failed, 'stale-close-must-revalidate': true } as const
    expect(outcomeOf('stale-close-must-revalidate', raw)).toBe('unclear')
  })

  test('does not depend on answers without a lifetime', () => {
    expect(outcomeOf('freshness-max-age', { 'freshness-none': failed, 'freshness-max-age': true })).toBe('pass')
  })
})
