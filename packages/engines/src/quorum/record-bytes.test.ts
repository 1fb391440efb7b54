import { expect, test } from 'vitest'
import { NO_EFFECTS, spellEntry } from '../log/log-record.js'
import { firstRecord } from '../log/new-log.js'
import { decodeRecord, encodeRecord } from './record-bytes.js'

test('a record is read as it was written', () => {
  const value = { version: 7, contentType: 'text/plain', body: Buffer.from('x') }
  const record = {
    ...firstRecord(),
    commits: [{ keys: ['a/b/c'], tags: ['a/b?x=[1]'] }],
    effects: {
      objects: new Map([
        ['a/b/c', value],
        ['a/b/d', undefined],
      ]),
      buckets: new Map([['a/b', 7]]),
      clients: new Map([['one', '[]']]),
      operations: new Map([['two', '[]']]),
      memory: new Map([['name', Buffer.from('bytes')]]),
      indexes: new Map([['a/b', Buffer.from('[]')]]),
      tags: new Map([['a/b?x=[1]', 7]]),
      entries: new Map([
        [spellEntry(Buffer.of(0, 0, 0, 1, 0xff)), true],
        [spellEntry(Buffer.of(0, 0, 0, 1, 0x80)), false],
      ]),
      cleared: new Set([3]),
    },
  }
  expect(decodeRecord(record.id, encodeRecord(record))).toEqual(record)
})

test('a record that a version without indexes wrote is readable', () => {
  const { slot, state } = firstRecord()
  const head = { slot, state, commits: [], objects: [], buckets: [], clients: [], operations: [], memory: [['a', 2]] }
  const text = Buffer.from(JSON.stringify(head))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(text.length)
  const record = decodeRecord('id', Buffer.concat([length, text, Buffer.from('xy')]))
  expect(record.effects).toEqual({ ...NO_EFFECTS, memory: new Map([['a', Buffer.from('xy')]]) })
})
