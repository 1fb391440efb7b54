import type { Query } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import type { IndexState } from '../store/store.js'
import { fieldsToIndex, planQuery } from './access.js'
import { dependenciesOf } from './dependencies.js'

function index(name: string, fields: string[], isReady = true): IndexState {
  return { name, fields, declaredAt: 1, isReady, done: 0, total: 0 }
}
const CATEGORY = index('category', ['category'])
const PRICE = index('price', ['category', 'price'])
const NAME = index('name', ['name'])
const books: Query = { where: { category: 'books' } }

describe('the plan', () => {
  test.each<[string, Query, IndexState[], object]>([
    ['no index: by id', books, [], { equal: [], isSorted: true }],
    ['equality', books, [NAME, CATEGORY], { index: 'category', equal: ['category'], isSorted: true }],
    ['an index that is not ready is not used', books, [index('c', ['category'], false)], { equal: [], isSorted: true }],
    [
      'equality and order',
      { ...books, sort: [{ field: 'price', descending: true }] },
      [CATEGORY, PRICE],
      { index: 'price', equal: ['category'], isSorted: true },
    ],
    [
      'equality and range, in another order than the sort',
      { where: { category: 'books', price: { $lt: 3 } }, sort: [{ field: 'name' }] },
      [CATEGORY, PRICE, NAME],
      { index: 'price', equal: ['category'], range: 'price', isSorted: false },
    ],
    ['order alone', { sort: [{ field: 'name' }] }, [PRICE, NAME], { index: 'name', equal: [], isSorted: true }],
    [
      'several values come in no order',
      { where: { category: { $in: ['a', 'b'] } }, sort: [{ field: 'price' }] },
      [PRICE],
      { index: 'price', equal: ['category'], isSorted: false },
    ],
    ['one id', { where: { $id: '7', name: { $gt: '' } } }, [NAME], { equal: [], range: '$id', isSorted: true }],
    ['conditions below $or narrow nothing', { where: { $or: [{ name: 'x' }] } }, [NAME], { equal: [], isSorted: true }],
  ])('%s', (_, query, indexes, expected) => {
    const { text, ...plan } = planQuery(query, indexes)
    expect(plan).toEqual(expected)
    expect(text).toContain('Reads the ')
  })

  test('the index to declare has the fields with equality first, then those of the range or the sort', () => {
    const sort = [{ field: 'price' }, { field: 'name' }]
    expect(fieldsToIndex({ where: { price: { $lt: 1 }, category: 'x' }, sort }, 4)).toEqual([
      'category',
      'price',
      'name',
    ])
    expect(fieldsToIndex({ where: { year: { $gt: 1 }, category: 'x' }, sort }, 4)).toEqual(['category', 'year'])
    expect(fieldsToIndex({ where: { a: 1, b: 2, c: 3, d: 4, e: 5 } }, 4)).toEqual(['a', 'b', 'c', 'd'])
    expect(fieldsToIndex({ where: { $or: [{ a: 1 }] } }, 4)).toEqual([])
  })
})

describe('the dependencies of a result', () => {
  const tagsOf = (query: Query, ...indexes: IndexState[]) => dependenciesOf('s/p', query, indexes)?.tags

  test('are the longest prefix of an index whose fields the filter sets equal, whether the index is ready or not', () => {
    const both: Query = { where: { category: 'books', $and: [{ price: 3 }] } }
    expect(tagsOf(both, CATEGORY, index('p', ['category', 'price'], false))).toEqual(['s/p?category,price=["books",3]'])
    expect(tagsOf(both, index('n', ['category', 'name']))).toEqual(['s/p?category=["books"]'])
    expect(tagsOf({ where: { gone: { $exists: false } } }, index('g', ['gone']))).toEqual(['s/p?gone=[missing]'])
  })

  test('are up to ten tags; beyond that a shorter prefix, or the bucket', () => {
    const among = (count: number) => ({ $in: Array.from({ length: count }, (_, i) => i) })
    expect(tagsOf({ where: { category: among(2), price: among(5) } }, PRICE)?.length).toBe(10)
    expect(tagsOf({ where: { category: among(3), price: among(4) } }, PRICE)?.length).toBe(3)
    expect(tagsOf({ where: { category: among(11) } }, PRICE)).toBe(undefined)
  })

  test('are the whole bucket without equality', () => {
    expect(tagsOf({ where: { category: { $gte: 'a' } } }, CATEGORY)).toBe(undefined)
    expect(tagsOf({ where: { $or: [{ category: 'a' }] } }, CATEGORY)).toBe(undefined)
    expect(tagsOf({ where: { price: 1 } }, PRICE)).toBe(undefined)
  })
})
