import { expect, test } from 'vitest'
import { KnownVersions } from './known-versions.js'

function aValue(version: number) {
  return { version, contentType: 'text/plain', body: Buffer.of(1) }
}

test('what one copy has is believed if it is not older than what is known', () => {
  const known = new KnownVersions()
  expect(known.isCurrent('a', aValue(9))).toBe(false)
  expect(known.isCurrent('a', undefined)).toBe(false)
  known.learn('a', aValue(5), 8)
  expect([4, 5, 6].map(version => known.isCurrent('a', aValue(version)))).toEqual([false, true, true])
  // It has missed the write; or somebody has deleted it since: a majority knows.
  expect(known.isCurrent('a', undefined)).toBe(false)
})

test('a copy that has missed a deletion is not believed, nor one that has missed what was not there', () => {
  const known = new KnownVersions()
  known.learn('a', aValue(5), 5)
  known.learn('a', undefined, 8)
  expect(known.isCurrent('a', undefined)).toBe(true)
  expect([5, 7, 9].map(version => known.isCurrent('a', aValue(version)))).toEqual([false, false, true])
})

test('as much is kept as there is room for', () => {
  const known = new KnownVersions(2)
  for (const key of ['a', 'b', 'a', 'c']) known.learn(key, aValue(1), 1)
  expect(['a', 'b', 'c'].map(key => known.isCurrent(key, aValue(1)))).toEqual([true, false, true])
})
