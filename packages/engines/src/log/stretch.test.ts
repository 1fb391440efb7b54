import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changedRows, Stretch } from './stretch.js'

const key = fc.nat({ max: 40 }).map(number => `${number}`.padStart(2, '0'))
const bound = fc.record({ key, isIncluded: fc.boolean() })
const keys = fc.uniqueArray(key, { maxLength: 30 })

function forwards(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

test('rows with changes over them equal the rows of the changed table, from any bound and in either direction', async () => {
  const property = fc.asyncProperty(
    keys,
    fc.array(fc.tuple(key, fc.boolean()), { maxLength: 20 }),
    fc.array(fc.tuple(bound, fc.integer({ min: 1, max: 10 })), { minLength: 1, maxLength: 6 }),
    bound,
    fc.boolean(),
    async (table, changed, reads, to, isDescending) => {
      const compare = isDescending ? (a: string, b: string) => forwards(b, a) : forwards
      const isFrom = (from: typeof to) => (each: string) =>
        compare(each, from.key) > 0 || (from.isIncluded && each === from.key)
      const isUpTo = (each: string) => compare(each, to.key) < 0 || (to.isIncluded && each === to.key)
      const sorted = (all: Iterable<string>) => [...all].filter(isUpTo).sort(compare)
      const stretch = new Stretch({
        compare,
        rowsMax: 4,
        fetch: async (from, limit) =>
          sorted(table)
            .filter(isFrom(from))
            .slice(0, limit)
            .map(each => ({ key: each })),
      })
      const changes = new Map(changed.map(([each, isThere]) => [each, isThere ? { key: each } : undefined]))
      const expected = new Set(table)
      for (const [each, row] of changes)
        if (row) expected.add(each)
        else expected.delete(each)
      for (const [from, limit] of reads) {
        const found = await changedRows(stretch, changes, { from, to, compare, limit })
        expect(found.map(row => row.key)).toEqual(sorted(expected).filter(isFrom(from)).slice(0, limit))
      }
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

test('rows that were read are not fetched again', async () => {
  const asked: string[] = []
  const stretch = new Stretch({
    compare: forwards,
    rowsMax: 2,
    fetch: async (from, limit) => {
      asked.push(from.key)
      return ['a', 'b', 'c', 'd', 'e']
        .filter(each => each > from.key)
        .slice(0, limit)
        .map(each => ({ key: each }))
    },
  })
  await stretch.from({ key: '', isIncluded: true }, 3)
  await stretch.from({ key: '', isIncluded: true }, 3)
  await stretch.from({ key: 'a', isIncluded: false }, 2)
  expect(asked).toEqual(['', 'b'])
  expect(await stretch.from({ key: 'b', isIncluded: false }, 9)).toEqual({
    rows: [{ key: 'c' }, { key: 'd' }, { key: 'e' }],
    isAll: true,
  })
})
