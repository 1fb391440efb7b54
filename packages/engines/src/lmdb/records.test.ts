import {
  checkStorable,
  decodeLogBatch,
  decodeValue,
  encodeLogBatch,
  encodeValue,
  versionOf,
} from '@freshet/store/records'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { positionKeys, textKeys } from './key-encodings.js'
import { decodeHead, encodeHead } from './records.js'

const version = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER })
const key = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the separators
  .filter(text => !/[\u0000-\u0002]/.test(text))

test('the bytes on disk are those of format 1, and of format 2 where there are tags', () => {
  const json = record(0x0102030405, 'application/json', '{}')
  expect(json.toString('hex')).toBe('0105040302010000' + '7b7d')
  const other = record(1, 'x/y', 'é')
  expect(other.toString('hex')).toBe('0001000000000000' + '03782f79' + 'c3a9')
  expect(Buffer.from(encodeLogBatch(1.5, [changed('a/b/c', 'ä'), changed('d')])).toString('hex')).toBe(
    '000000000000f83f' + '612f622f6300c3a40164',
  )
  const tagged = { keys: ['a/b/c'], tags: ['a/b?x=[1]', 'a/b?x=[2]'] }
  expect(
    Buffer.from(encodeLogBatch(1.5, [tagged, changed('d')]))
      .subarray(8)
      .toString(),
  ).toBe('a/b/c\u0002a/b?x=[1]\0a/b?x=[2]\u0001d')
  expect(Buffer.from(encodeHead({ epoch: 1, position: 2, timeMs: 0.5 })).toString('hex')).toBe(
    '000000000000f03f' + '0000000000000040' + '000000000000e03f',
  )
  expect(keyBytes(positionKeys.writeKey, 2 ** 33 + 1)).toBe('0000000200000001')
  expect(keyBytes(textKeys.writeKey, 'a/ä')).toBe('612fc3a4')
})

test('a value is decoded as it was encoded, from a buffer that holds more', () => {
  const body = fc.uint8Array({ maxLength: 300 })
  const contentType = fc.oneof(fc.constantFrom('application/json', 'text/plain'), fc.string({ maxLength: 60 }))
  fc.assert(
    fc.property(contentType, body, version, (type, bytes, number) => {
      const encoded = encodeValue(number, { contentType: type, body: bytes })
      expect(versionOf(encoded)).toBe(number)
      const buffer = Buffer.concat([encoded, Buffer.alloc(100, 0xee)])
      const value = decodeValue(buffer, encoded.length)!
      buffer.fill(0)
      expect(value).toEqual({ version: number, contentType: type, body: Buffer.from(bytes) })
    }),
  )
})

test('bytes that are not a value are not decoded', () => {
  expect(decodeValue(Buffer.alloc(7), 7)).toBe(undefined)
  expect(decodeValue(Buffer.alloc(8), 8)).toBe(undefined)
  expect(decodeValue(Buffer.from([200, 0, 0, 0, 0, 0, 0, 0, 1]), 9)).toBe(undefined)
  expect(decodeValue(Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 9, 1]), 10)).toBe(undefined)
})

test('log entries and heads are decoded as they were encoded', () => {
  const commit = fc.record({
    keys: fc.array(key, { minLength: 1, maxLength: 4 }),
    tags: fc.array(key, { maxLength: 4 }),
  })
  const commits = fc.array(commit, { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(
      fc.integer({ min: 5, max: Number.MAX_SAFE_INTEGER }),
      fc.double({ noNaN: true }),
      commits,
      (last, timeMs, all) => {
        const entries = decodeLogBatch(last, Buffer.from(encodeLogBatch(timeMs, all)))
        expect(entries).toEqual(all.map((one, i) => ({ position: last - all.length + 1 + i, timeMs, ...one })))
        const head = { epoch: 3, position: last, timeMs }
        expect(decodeHead(Buffer.from(encodeHead(head)))).toEqual(head)
      },
    ),
  )
})

test('encoded keys keep their order, byte by byte, and are decoded again', () => {
  fc.assert(
    fc.property(version, version, key, (a, b, text) => {
      const order = Buffer.compare(
        Buffer.from(keyBytes(positionKeys.writeKey, a), 'hex'),
        Buffer.from(keyBytes(positionKeys.writeKey, b), 'hex'),
      )
      expect(order).toBe(Math.sign(a - b))
      const target = Buffer.alloc(400)
      expect(positionKeys.readKey(target, 5, positionKeys.writeKey(a, target, 5))).toBe(a)
      expect(textKeys.readKey(target, 3, textKeys.writeKey(text, target, 3))).toBe(text)
      expect(keyBytes(textKeys.writeKey, text)).toBe(Buffer.from(text).toString('hex'))
    }),
  )
})

test('a key that does not fit throws the error that LMDB expects', () => {
  expect(() => textKeys.writeKey('äää', Buffer.alloc(10), 5)).toThrow(RangeError)
  expect(() => positionKeys.writeKey(1, Buffer.alloc(10), 5)).toThrow(RangeError)
})

test('keys and content types that cannot be stored are refused', () => {
  for (const bad of ['', 'a\0b', 'a\u0001b', 'x'.repeat(1025)]) {
    expect(() => checkStorable({ writes: [{ key: bad, delete: true }] })).toThrow(TypeError)
    expect(() => checkStorable({ reads: [{ key: bad, version: 0 }], writes: [] })).toThrow(TypeError)
  }
  const write = { key: 'k', contentType: 'x'.repeat(256), body: Buffer.from('') }
  expect(() => checkStorable({ writes: [write] })).toThrow(TypeError)
})

function record(version: number, contentType: string, body: string): Buffer {
  return Buffer.from(encodeValue(version, { contentType, body: Buffer.from(body) }))
}

function keyBytes<K>(writeKey: (key: K, target: Buffer, start: number) => number, key: K): string {
  const target = Buffer.alloc(400)
  return target.toString('hex', 0, writeKey(key, target, 0))
}

function changed(...keys: string[]) {
  return { keys, tags: [] }
}
