import { expect, test } from 'vitest'
import { guessAddress, isEngineAddress, isUnknownAddress, sqlitePath } from './engine-address.js'

test('what follows sqlite: is a file, never a host', () => {
  expect(sqlitePath('sqlite:./shop.db')).toBe('./shop.db')
  expect(sqlitePath('sqlite:/data/shop.db')).toBe('/data/shop.db')
  expect(isEngineAddress('sqlite:shop.db')).toBe(true)
  for (const text of ['sqlite:', 'sqlite://host/shop.db', './sqlite:', 'postgres://host/sqlite:']) {
    expect(sqlitePath(text)).toBeUndefined()
  }
  expect(isUnknownAddress('sqlite://host/shop.db')).toBe(true)
})

test('a misspelt scheme is guessed', () => {
  expect(guessAddress('sqlit:./shop.db')).toContain('sqlite:')
  expect(guessAddress('postgre://host')).toContain('postgres://')
})
