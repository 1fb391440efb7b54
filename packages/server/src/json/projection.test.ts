import { expect, test } from 'vitest'
import { project } from './projection.js'

const BOOK = { name: 'Tea', price: 4, author: { name: 'Ann', born: 1950, home: { city: 'York' } }, tags: ['a'] }

function projected(...fields: string[]): unknown {
  return JSON.parse(JSON.stringify(project(BOOK, fields)))
}

test('fields are selected by name and by path, and missing ones are left out', () => {
  expect(projected('name', 'author.name', 'author.home.city', 'nothing', 'author.nothing', 'name.x', 'tags.0')).toEqual(
    {
      name: 'Tea',
      author: { name: 'Ann', home: { city: 'York' } },
    },
  )
})

test('a field that is selected as a whole stays whole', () => {
  expect(projected('author.name', 'author')).toEqual({ author: BOOK.author })
  expect(projected('author-x', 'author.born', 'author', 'author.name')).toEqual({ author: BOOK.author })
})

test('no name has a special meaning', () => {
  const value = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as object
  expect(JSON.stringify(project(value, ['__proto__.x', 'constructor', 'toString']))).toBe(
    '{"__proto__":{"x":1},"constructor":2}',
  )
})
