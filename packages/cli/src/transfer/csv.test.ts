import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cellOf, columnOf, csvLine, fieldOf, isOpen, jsonOfCell, splitCsv } from './csv.js'

test('cells are read as they were written, each record in one line', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.string({ unit: 'binary', maxLength: 5 })), { minLength: 1, maxLength: 5 }),
      texts => {
        const cells = texts.map(text => cellOf(JSON.stringify(text)))
        const line = csvLine(cells)
        expect(/[\r\n]/.test(line) || isOpen(line)).toBe(false)
        const read = splitCsv(line).map(cell => jsonOfCell(cell, false))
        expect(read.map(json => JSON.parse(json!))).toEqual(texts)
      },
    ),
  )
})

test('values that are no text stay as they stand, to the last digit', () => {
  const values = ['12345678901234567890', '1.50', 'true', 'null', '{"a": [1,"x"]}']
  expect(splitCsv(csvLine(values.map(cellOf))).map(cell => jsonOfCell(cell, false))).toEqual(values)
  expect(jsonOfCell('007', false)).toBe('"007"')
  expect(jsonOfCell('42', true)).toBe('"42"')
  expect(jsonOfCell('', false)).toBeUndefined()
})

test('what other programs write is read: quotes, commas, line breaks within quotes', () => {
  expect(splitCsv('a,"b,c","say ""hi""",,"two\nlines"')).toEqual(['a', 'b,c', 'say "hi"', '', 'two\nlines'])
  expect(isOpen('a,"two')).toBe(true)
  expect(() => splitCsv('a,b"c')).toThrow('within a cell')
  expect(() => splitCsv('"a"b')).toThrow('follows a closing quote')
})

test('a field may be called id, or begin with a dot', () => {
  for (const field of ['id', '.id', '..', 'name']) {
    expect(columnOf(field)).not.toBe('id')
    expect(fieldOf(columnOf(field))).toBe(field)
  }
})
