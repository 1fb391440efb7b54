import { expect, test } from 'vitest'
import { deleteLine, type ObjectLine, objectLine, readLine, recordLine } from './object-lines.js'

const json = (text: string) => ({ contentType: 'application/json', body: Buffer.from(text) })

test.each(['{"n":12345678901234567890}', '{"t":"ä \\n \\"x\\""}', '{\n  "n": 1\n}\n', '7', '{"a":1} '])(
  '%j is read back exactly',
  text => {
    const line = objectLine('shop/products', 'a b', json(text), 'exact')
    expect(line).not.toMatch(/[\r\n]/)
    const read = readLine(line)
    expect(read).toMatchObject({ kind: 'object', bucket: 'shop/products', id: 'a b' })
    expect(Buffer.from((read as ObjectLine).body).toString()).toBe(text)
  },
)

test('in the readable spelling, JSON with line breaks stays JSON', () => {
  const line = objectLine('shop/products', '1', json('{\r\n  "n": 1\n}\n'), 'readable')
  expect((JSON.parse(line) as { value: unknown }).value).toEqual({ n: 1 })
})

test('bytes that are not UTF-8 are read back, even if their type claims JSON', () => {
  const content = { contentType: 'application/json', body: Buffer.from([0x22, 0xff, 0x22]) }
  expect(readLine(objectLine('lab/x', '1', content, 'exact'))).toMatchObject(content)
})

test('records of buckets and deletions are read back', () => {
  const indexes = [{ name: 'by-n', fields: ['n'] }]
  const content = json('{"kind":"object"}')
  expect(readLine(recordLine('shop/p', content, indexes))).toEqual({
    kind: 'record',
    bucket: 'shop/p',
    content,
    indexes,
  })
  expect(readLine(recordLine('shop/p', undefined, undefined))).toMatchObject({ content: undefined })
  expect(readLine(deleteLine('shop/p', '1'))).toEqual({ kind: 'delete', bucket: 'shop/p', id: '1' })
})

test.each([
  ['nonsense', 'it is not JSON'],
  ['[1]', 'it is not a JSON object'],
  ['{"bucket":"Shop","id":"1","value":1}', 'namespace/bucket'],
  ['{"bucket":"a/b","id":"x/y","value":1}', 'cannot be an id'],
  ['{"bucket":"a/b","id":"1"}', 'it needs a value'],
  ['{"bucket":"a/b"}', 'id must be a text'],
])('%s is refused: %s', (text, reason) => {
  expect(() => readLine(text)).toThrow(reason)
})
