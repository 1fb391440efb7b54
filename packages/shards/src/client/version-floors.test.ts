import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseToken, VersionFloors } from './version-floors.js'

const VERSIONS = fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.nat({ max: 9 }))

test('a result is requested again if and only if one of its tables was seen in a later state, also through a token', () => {
  fc.assert(
    fc.property(fc.array(VERSIONS), VERSIONS, (seen, next) => {
      const floors = new VersionFloors({})
      for (const versions of seen) floors.raise(versions)
      const behind = Object.entries(next).flatMap(([table, version]) => {
        const floor = Math.max(0, ...seen.map(versions => versions[table] ?? 0))
        return version < floor ? [floor] : []
      })
      expect(floors.neededFor(next)).toBe(Math.max(0, ...behind))
      expect(new VersionFloors(parseToken(floors.token)).neededFor(next)).toBe(floors.neededFor(next))
    }),
  )
})

test.each(['', 'x', '[1', '{"a":"b"}', 'null'])('%j is refused as a token', token => {
  expect(() => parseToken(token)).toThrow(expect.objectContaining({ code: 'TOKEN_INVALID' }))
})
