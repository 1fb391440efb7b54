import { expect, test } from 'vitest'
import { compareFields, mergeFields } from './merge.js'

const WAS = { name: 'Tea', price: 5, tags: ['a'], old: 1 }

test('a change by one side is taken; a field that both changed must be chosen', () => {
  const theirs = { name: 'Tea', price: 6, tags: ['a'], old: 1, stock: 3 }
  const mine = { price: 7, name: 'Green tea', tags: ['a'] }
  const fields = compareFields(WAS, theirs, mine)
  expect(Object.fromEntries(fields.map(({ field, changedBy }) => [field, changedBy]))).toEqual({
    name: 'me',
    price: 'both',
    tags: 'neither',
    old: 'me',
    stock: 'them',
  })
  expect(mergeFields(fields, new Set())).toEqual({ name: 'Green tea', price: 6, tags: ['a'], stock: 3 })
  expect(mergeFields(fields, new Set(['price']))).toEqual({ name: 'Green tea', price: 7, tags: ['a'], stock: 3 })
})

test('the same change by both is not a conflict, in whatever order its fields are', () => {
  const fields = compareFields({ a: { x: 1 } }, { a: { y: 2, x: 1 } }, { a: { x: 1, y: 2 } })
  expect(fields).toMatchObject([{ changedBy: 'them' }])
})

test('fields named like members of Object are ordinary fields', () => {
  const hostile = JSON.parse('{"__proto__":1,"constructor":2}')
  expect(compareFields({}, hostile, hostile).map(({ field }) => field)).toEqual(['__proto__', 'constructor'])
  expect(Object.keys(mergeFields(compareFields({}, hostile, {}), new Set()))).toEqual(['__proto__', 'constructor'])
})
