import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CsvRecords, cellOf, columnOf, csvLine, fieldOf, jsonOfCell, splitCsv } from './csv.js'

test('cells are read back as they were written, whatever line breaks they contain', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string(),
          fc.constantFrom('two\r\nlines', 'a\nb', '\r', '"\n"', ' x ', '1\n'),
          fc.string({ unit: 'binary', maxLength: 5 }),
        ),
        { minLength: 1, maxLength: 5 },
      ),
      texts => {
        const cells = texts.map(text => cellOf(JSON.stringify(text)))
        const read = recordsOf(`${csvLine(cells)}\n`).map(record => splitCsv(record))
        expect(read.map(each => each.map(cell => JSON.parse(jsonOfCell(cell, false)!)))).toEqual([texts])
      },
    ),
  )
})

function recordsOf(text: string): readonly string[] {
  const records = new CsvRecords()
  return text
    .split('\n')
    .slice(0, -1)
    .flatMap(line => records.take(line) ?? [])
}

test('records end with CRLF, and line breaks are quoted, as in RFC 4180', () => {
  expect(`${csvLine(['1', cellOf(JSON.stringify('two\nlines')), 'say "hi"'])}\n`).toBe(
    '1,"two\nlines","say ""hi"""\r\n',
  )
  expect(recordsOf('a,b\r\n"x\r\ny",z\r\n')).toEqual(['a,b', '"x\r\ny",z'])
})

test('values other than text stay unchanged, to the last digit', () => {
  const values = ['12345678901234567890', '1.50', 'true', 'null', '{"a": [1,"x"]}']
  expect(splitCsv(csvLine(values.map(cellOf)).slice(0, -1)).map(cell => jsonOfCell(cell, false))).toEqual(values)
  expect(jsonOfCell('007', false)).toBe('"007"')
  expect(jsonOfCell('42', true)).toBe('"42"')
  expect(jsonOfCell('', false)).toBeUndefined()
})

test('CSV of other programs is read: quotes, commas, line breaks within quotes', () => {
  expect(splitCsv('a,"b,c","say ""hi""",,"two\nlines"')).toEqual(['a', 'b,c', 'say "hi"', '', 'two\nlines'])
  const records = new CsvRecords()
  expect([records.take('a,"two'), records.isOpen]).toEqual([undefined, true])
  expect(() => splitCsv('a,b"c')).toThrow('within a cell')
  expect(() => splitCsv('"a"b')).toThrow('follows a closing quote')
})

test('a field may be called id, or begin with a dot', () => {
  for (const field of ['id', '.id', '..', 'name']) {
    expect(columnOf(field)).not.toBe('id')
    expect(fieldOf(columnOf(field))).toBe(field)
  }
})
