import { describe, expect, it } from 'vitest'
import { printTypes } from './print-types.js'

function bodyOf(schema: object): string {
  const text = printTypes([{ name: 'shop/things', schema: { ...schema } }])
  return /export (?:type|interface) Things (?:= )?([\s\S]*?)\n\n/.exec(text)![1]!
}

describe('types from schemas', () => {
  it.each([
    [
      'fields',
      { properties: { b: { type: 'string' }, a: {} }, required: ['b', 'c'] },
      '{\n  a?: unknown\n  b: string\n  c: unknown\n}',
    ],
    ['names that need quotes', { properties: { 'a-b': { type: 'null' } } }, '{\n  "a-b"?: null\n}'],
    ['several types', { properties: { a: { type: ['integer', 'null'] } } }, '{\n  a?: number | null\n}'],
    [
      'values',
      { properties: { a: { enum: ['x', 1, null] }, b: { const: { c: [true] } } } },
      '{\n  a?: "x" | 1 | null\n  b?: { "c": [true] }\n}',
    ],
    [
      'lists',
      { properties: { a: { type: 'array', items: { type: ['string', 'number'] } } } },
      '{\n  a?: (string | number)[]\n}',
    ],
    [
      'tuples',
      { properties: { a: { prefixItems: [{ type: 'string' }, {}], minItems: 1, items: false } } },
      '{\n  a?: [string, unknown?]\n}',
    ],
    ['maps', { type: 'object', additionalProperties: { type: 'number' } }, 'Record<string, number>'],
    ['objects within', { properties: { a: { properties: { b: {} } } } }, '{\n  a?: {\n    b?: unknown\n  }\n}'],
    ['alternatives', { anyOf: [{ required: ['a'] }, { required: ['b'] }] }, '{\n  a: unknown\n} | {\n  b: unknown\n}'],
    [
      'parts',
      { allOf: [{ $ref: '#/$defs/x' }, { required: ['a'] }], $defs: { x: { required: ['b'] } } },
      'ThingsX & {\n  a: unknown\n}',
    ],
    ['itself', { properties: { next: { $ref: '#' } } }, '{\n  next?: Things\n}'],
    [
      'references',
      { properties: { a: { 'x-reference': 'shop/customers' } } },
      '{\n  a?: Reference<"shop/customers">\n}',
    ],
    [
      'checked references',
      { properties: { a: { type: 'string', 'x-reference': { bucket: 'a/b', check: true } } } },
      '{\n  a?: Reference<"a/b">\n}',
    ],
    [
      'the description of a field',
      { properties: { a: { description: 'One */\ntwo', deprecated: true } } },
      '{\n  /**\n   * One *\\/\n   * two\n   * @deprecated\n   */\n  a?: unknown\n}',
    ],
    ['an empty schema', {}, 'Record<string, unknown>'],
  ])('have %s', (_, schema, text) => {
    expect(bodyOf(schema)).toBe(text)
  })

  it('name buckets of counters and of bytes by what they hold', () => {
    const text = printTypes([
      { name: 'shop/views', kind: 'counter' },
      { name: 'shop/images', kind: 'kv' },
      { name: 'shop/others', kind: 'object' },
    ])
    expect(text).toContain(`export interface Buckets {
  "shop/images": Uint8Array
  "shop/others": Record<string, unknown>
  "shop/views": number
}`)
  })

  it('do not depend on the order of buckets and fields', () => {
    const schema = { properties: { a: {}, b: {} }, required: ['a', 'b'] }
    const turned = { required: ['b', 'a'], properties: { b: {}, a: {} } }
    expect(printTypes([{ name: 'a/b', schema: turned }, { name: 'a/a' }])).toBe(
      printTypes([{ name: 'a/a' }, { name: 'a/b', schema }]),
    )
  })

  it("have distinct names, even if buckets of two namespaces, or a bucket and the file's own types, share a name", () => {
    const schema = { required: ['a'] }
    const buckets = ['blog/line-items', 'shop/line-items', 'shop/buckets', 'shop/1st'].map(name => ({ name, schema }))
    const names = [...printTypes(buckets).matchAll(/^export interface (\w+)/gm)].map(match => match[1])
    expect(names).toEqual(['BlogLineItems', 'T1st', 'Buckets2', 'ShopLineItems', 'Buckets'])
  })
})
