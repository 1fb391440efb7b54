import { describe, expect, test } from 'vitest'
import type { ExposedTable } from '../../sql/tables/exposed-table.js'
import { fieldsOf, isSameRow, newValueOf, toJson } from './row-json.js'

function aTable(...types: readonly string[]): ExposedTable {
  const columns = types.map((baseType, i) => ({ name: `c${i}`, type: baseType, baseType, isGenerated: false }))
  return { number: 1, bucket: 'a/b', schema: 's', name: 't', key: ['c0'], columns }
}

describe('the fields of an object, as they are spelled', () => {
  test('equal those that JSON.parse finds, for any object', () => {
    const random = randomFrom(7)
    const pick = (count: number) => Math.floor(random() * count)
    const texts = ['', 'a', '"', '\\', '{', '}', '[1,2]', ',', ':', '\\"', 'é\n', '__proto__']
    const value = (depth: number): unknown =>
      [
        () => texts[pick(texts.length)],
        () => [0, -1.5, 1e21, 1e-7][pick(4)],
        () => [true, false, null][pick(3)],
        () => Array.from({ length: depth > 2 ? 0 : pick(3) }, () => value(depth + 1)),
        () => object(depth + 1),
      ][pick(5)]!()
    const object = (depth: number): object =>
      Object.fromEntries(Array.from({ length: depth > 2 ? 0 : pick(4) }, () => [texts[pick(11)], value(depth)]))
    for (let i = 0; i < 5000; i++) {
      const wanted = object(0)
      const fields = fieldsOf(JSON.stringify(wanted, undefined, pick(2) * 2))
      expect(Object.fromEntries([...fields].map(([name, text]) => [name, JSON.parse(text)]))).toEqual(wanted)
    }
  })

  test('keep all digits; if a name occurs twice, the last counts', () => {
    expect([...fieldsOf('{"a": 12345678901234567890 ,"b":{"a":1},"a":1.50}')]).toEqual([
      ['a', '1.50'],
      ['b', '{"a":1}'],
    ])
  })
})

test.each([
  ['integer', '-9007199254740991', '-9007199254740991'],
  ['integer', '9007199254740992', '"9007199254740992"'],
  ['decimal', '0.50', '0.5'],
  ['decimal', '-100', '-100'],
  ['decimal', '100.00', '100'],
  ['decimal', '1234567890123456.7', '"1234567890123456.7"'],
  ['float', '0.10000000149011612', '0.1'],
  ['double', '1e-320', '1e-320'],
  ['timestamp', '2026-11-16 09:00:00.5', '"2026-11-16T09:00:00.5+00:00"'],
  ['bytes', 'az', '"\\\\x617a"'],
  ['json', '{"a" : 1}', '{"a" : 1}'],
  ['json', '{broken', '"{broken"'],
  ['text', 'a"\n', '"a\\"\\n"'],
])('%s, %s, is %s', (type, cell, spelled) => {
  expect(toJson(aTable(type), [Buffer.from(cell)])).toBe(`{"c0":${spelled}}`)
})

test.each([
  ['timestamp', '"2026-11-16T00:30:00.25+01:00"', '2026-11-15 23:30:00.25'],
  ['timestamp', '"0000-00-00T00:00:00+00:00"', '0000-00-00 00:00:00'],
  ['timestamp', '"2026-11-16 10:00"', '2026-11-16 10:00'],
  ['bigint', '9007199254740993', '9007199254740993'],
  ['text', '{"a" : 1}', '{"a" : 1}'],
])('for %s, %s is written as %s', (type, spelled, written) => {
  const table = aTable(type)
  expect(newValueOf(table, '1', table.columns[0]!, spelled).values).toEqual([written])
})

test.each([
  ['{"c0":1,"c1":{"a":1}}', true],
  ['{ "c1": {"a":1}, "c0": 1.0 }', true],
  ['{"c0":1,"c1":{"a": 1}}', false],
  ['{"c0":1.00000000000000001,"c1":{"a":1}}', false],
  ['{"c0":"1","c1":{"a":1}}', false],
  ['{"c0":1}', false],
  ['{"c0":1,"c1":{"a":1},"c2":1}', false],
  ['no JSON', false],
])('whether %s is the row: %s', (written, isSame) => {
  expect(isSameRow(aTable('decimal', 'json'), written, '{"c0":1,"c1":{"a":1}}')).toBe(isSame)
})

function randomFrom(seed: number): () => number {
  let state = seed * 2_654_435_761
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
