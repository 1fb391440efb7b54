import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalQuery, formatQuery } from './canonical-query.js'
import { formatCursor, parseCursor, type SortValue } from './cursor.js'
import { objectionToIndexes } from './index-declaration.js'
import { checkQuery, parseQuery } from './parse-query.js'
import type { Filter, Query, Scalar } from './query.js'
import { partsOfTag, tagOf } from './tag.js'

const scalar: fc.Arbitrary<Scalar> = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.double({ noNaN: true, noDefaultInfinity: true, min: -(2 ** 53) + 1, max: 2 ** 53 - 1 }),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
)
const field = fc.constantFrom('category', 'price', 'author.name', '__proto__', '10', '9', '$id', 'ä b')
const condition = fc.oneof(
  scalar,
  fc.record({ $eq: scalar }),
  fc.record({ $gte: scalar, $lt: scalar }, { requiredKeys: ['$lt'] }),
  fc.record({ $in: fc.array(scalar, { minLength: 1, maxLength: 5 }) }),
  fc.record({ $prefix: fc.string({ unit: 'grapheme' }) }),
  fc.record({ $exists: fc.boolean() }),
)
const members = fc.array(fc.tuple(field, condition), { maxLength: 3 })
const simple = members.map(entries => Object.fromEntries(entries) as Filter)
const filter: fc.Arbitrary<Filter> = fc.oneof(
  simple,
  fc.tuple(simple, fc.array(simple, { minLength: 1, maxLength: 3 })).map(([one, or]) => ({ ...one, $or: or })),
)
const query: fc.Arbitrary<Query> = fc.record(
  {
    where: filter,
    sort: fc.array(fc.record({ field, descending: fc.boolean() }), { maxLength: 4 }),
    limit: fc.integer({ min: 1, max: 1000 }),
    fields: fc.array(field, { maxLength: 4 }),
  },
  { requiredKeys: [] },
)

describe('the spelling of a query', () => {
  test('a formatted query is parsed to the same query, which has the same spelling', () => {
    fc.assert(
      fc.property(query, drawn => {
        const text = formatQuery(drawn)
        const parsed = parseQuery(parametersOf(text))
        expect(parsed).toEqual(JSON.parse(JSON.stringify(canonicalQuery(drawn))))
        expect(formatQuery(parsed)).toBe(text)
      }),
    )
  })

  test('queries that mean the same are spelled the same', () => {
    const spellings: Query[] = [
      {
        where: { b: { $in: [2, 1, 2] }, a: { $eq: 'x' } },
        limit: 100,
        sort: [{ field: 'p' }, { field: 'p', descending: true }],
      },
      { sort: [{ field: 'p', descending: false }], where: { a: { $in: ['x'] }, b: { $in: [1, 2] } }, fields: [] },
    ]
    expect(spellings.map(spelling => formatQuery(spelling))).toEqual(
      Array(2).fill('sort=p&where=%7B%22a%22%3A%22x%22%2C%22b%22%3A%7B%22%24in%22%3A%5B1%2C2%5D%7D%7D'),
    )
    expect(formatQuery({ where: {}, sort: [{ field: '$id' }], limit: 100 })).toBe('where=%7B%7D')
    expect(formatQuery({ sort: [{ field: '$id', descending: true }, { field: 'a' }], after: 'c' }, { at: '7' })).toBe(
      'after=c&at=7&sort=-%24id',
    )
    const or = (...clauses: Filter[]) => formatQuery({ where: { $or: clauses } })
    expect(or({ a: 1 }, { b: 1 })).toBe(or({ b: { $eq: 1 } }, { a: 1 }, { b: 1 }))
  })

  test.each([
    ['where', '{"a":', 'where'],
    ['where', '[]', 'where'],
    ['where', '{"a":[1]}', 'where.a'],
    ['where', '{"a":{}}', 'where.a'],
    ['where', '{"a":{"$foo":1}}', 'where.a.$foo'],
    ['where', '{"a":{"$in":[]}}', 'where.a.$in'],
    ['where', '{"a":{"$in":[{}]}}', 'where.a.$in[0]'],
    ['where', '{"a":{"$prefix":1}}', 'where.a.$prefix'],
    ['where', '{"a":{"$exists":1}}', 'where.a.$exists'],
    ['where', '{"$or":[]}', 'where.$or'],
    ['where', '{"$or":[{"a":1},{"b":{"$lt":[]}}]}', 'where.$or[1].b.$lt'],
    ['where', '{"$where":1}', 'where.$where'],
    ['where', '{"a..b":1}', 'where.a..b'],
    ['where', '{"a":1e999}', 'where'],
    ['where', '{"a":9007199254740993}', 'where'],
    ['where', '{"a":{"$lt":0.10000000000000000001}}', 'where'],
    ['where', '{"a":"\\ud800"}', 'where.a'],
    ['where', `{"a":"${'x'.repeat(9000)}"}`, 'where'],
    ['where', `{"$and":[${'{"$and":['.repeat(6)}{}${']}'.repeat(6)}]}`, `where${'.$and[0]'.repeat(5)}.$and`],
    ['where', JSON.stringify({ $or: Array(101).fill({ a: 1 }) }), 'where.$or[99]'],
    ['sort', 'a,,b', 'sort'],
    ['sort', 'a,b,c,d,e', 'sort'],
    ['limit', '0', 'limit'],
    ['limit', '1e3', 'limit'],
    ['limit', '1001', 'limit'],
    ['fields', 'a=b', 'fields'],
  ])('%s=%s is refused at its place', (name, value, place) => {
    expect(() => parseQuery(new Map([[name, value]]))).toThrow(
      expect.objectContaining({ code: 'QUERY_INVALID', details: { place } }),
    )
  })
})

describe('cursors', () => {
  test('a cursor parses to its place, and only for a sort of as many fields', () => {
    const value: fc.Arbitrary<SortValue> = fc.oneof(scalar, fc.constantFrom<SortValue>(undefined, {}))
    fc.assert(
      fc.property(fc.array(value, { maxLength: 4 }), fc.string(), (values, id) => {
        const cursor = formatCursor({ values, id })
        const place = parseCursor(cursor, values.length)
        expect(place.id).toBe(id)
        expect(place.values.map(one => (one === 0 ? 0 : one))).toEqual(values.map(one => (one === 0 ? 0 : one)))
        expect(() => parseCursor(cursor, values.length + 1)).toThrow(expect.objectContaining({ code: 'QUERY_INVALID' }))
      }),
    )
    for (const text of ['', 'x', '{}', '[1]', '"a"']) {
      expect(() => checkQuery({ after: text })).toThrow(expect.objectContaining({ code: 'QUERY_INVALID' }))
    }
  })
})

describe('tags', () => {
  test('a tag names its bucket, its fields and their values', () => {
    expect(tagOf('shop/products', ['category', 'price'], ['bo\noks', 10])).toBe(
      'shop/products?category,price=["bo\\noks",10]',
    )
    expect(tagOf('a/b', ['x', 'y', 'z'], [undefined, null, 'missing'])).toBe('a/b?x,y,z=[missing,null,"missing"]')
    expect(partsOfTag('a/b?x,y=["=?",1]')).toEqual({ bucket: 'a/b', fields: ['x', 'y'], values: ['"=?"', '1'] })
    expect(partsOfTag('a/b')).toBe(undefined)
  })

  test('a long string is cut after 200 bytes, between characters', () => {
    const cutOf = (text: string) => (JSON.parse(tagOf('a/b', ['x'], [text]).slice('a/b?x='.length)) as string[])[0]!
    expect(cutOf('x'.repeat(300))).toBe('x'.repeat(200))
    expect(cutOf(`x${'é'.repeat(150)}`)).toBe(`x${'é'.repeat(99)}`)
    expect(cutOf('😀'.repeat(60))).toBe('😀'.repeat(50))
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 40, maxLength: 260 }), text => {
        const cut = cutOf(text)
        const bytes = new TextEncoder().encode(cut).length
        expect(text.startsWith(cut)).toBe(true)
        expect(bytes <= 200 && (cut === text || bytes > 196)).toBe(true)
      }),
    )
  })
})

test.each([
  [{}, 'list'],
  [[{ name: 'A', fields: ['a'] }], 'the name of an index'],
  [[{ name: 'a', fields: [] }], '1 to 4'],
  [[{ name: 'a', fields: ['a', 'a'] }], 'twice'],
  [[{ name: 'a', fields: ['$id'] }], 'dotted path'],
  [[{ name: 'a', fields: ['a'], unique: true }], 'not unique'],
  [['a', 'a'].map(name => ({ name, fields: ['x'] })), 'two indexes'],
  [Array.from({ length: 17 }, (_, i) => ({ name: `i${i}`, fields: ['x'] })), 'at most 16'],
])('indexes %j cannot be declared', (indexes, reason) => {
  expect(objectionToIndexes(indexes)).toContain(reason)
})

function parametersOf(text: string): ReadonlyMap<string, string> {
  const pairs = text.split('&').map(pair => pair.split('=').map(decodeURIComponent) as [string, string])
  return new Map(text === '' ? [] : pairs)
}
