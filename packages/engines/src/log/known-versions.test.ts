import { expect, test } from 'vitest'
import { KnownVersions } from './known-versions.js'

function aValue(version: number) {
  return { version, contentType: 'text/plain', body: Buffer.of(1) }
}

test('the version of one copy counts as current if it is not older than the known one', () => {
  const known = new KnownVersions()
  expect(known.isCurrent('a', aValue(9))).toBe(false)
  expect(known.isCurrent('a', undefined)).toBe(false)
  known.learn('a', aValue(5), 8)
  expect([4, 5, 6].map(version => known.isCurrent('a', aValue(version)))).toEqual([false, true, true])
  // The copy has missed the write, or another server has deleted the object since: a majority knows which.
  expect(known.isCurrent('a', undefined)).toBe(false)
})

test('after a known deletion a copy counts as current if it has no object, or a newer one', () => {
  const known = new KnownVersions()
  known.learn('a', aValue(5), 5)
  known.learn('a', undefined, 8)
  expect(known.isCurrent('a', undefined)).toBe(true)
  expect([5, 7, 9].map(version => known.isCurrent('a', aValue(version)))).toEqual([false, false, true])
})

test('the oldest known versions are forgotten when there is no room', () => {
  const known = new KnownVersions(2)
  for (const key of ['a', 'b', 'a', 'c']) known.learn(key, aValue(1), 1)
  expect(['a', 'b', 'c'].map(key => known.isCurrent(key, aValue(1)))).toEqual([true, false, true])
})
