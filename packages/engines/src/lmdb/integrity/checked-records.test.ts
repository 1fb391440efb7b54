import { expect, test } from 'vitest'
import { KEYS_OF_TABLE, type KeyEncoder, type Table } from '../environment.js'
import { CheckedTable, isWhole, seedOf } from './checked-records.js'

const KEY = Buffer.from('a/b/1')

/** The record as it is in the file. */
function sealed(name: string, record: Uint8Array): Uint8Array {
  const table = { put: (_: string, bytes: Uint8Array) => bytes } as unknown as Table<string>
  const keys = KEYS_OF_TABLE[name] as unknown as KeyEncoder<string>
  const checked = new CheckedTable(table, { path: '', name, keys, allocate: bytes => new Uint8Array(bytes) })
  return checked.put(KEY.toString(), record) as Uint8Array
}

test('a record is whole only under its own key, in its own table, and with no bit flipped', () => {
  for (const length of [0, 1, 9, 500]) {
    const stored = sealed('values', new Uint8Array(length).fill(7))
    const isRecord = (name: string, key: Uint8Array, bytes = stored) =>
      isWhole(seedOf(name), key, key.length, bytes, bytes.length)
    expect(isRecord('values', KEY)).toBe(true)
    expect(isRecord('memory', KEY)).toBe(false)
    expect(isRecord('values', Buffer.from('a/b/2'))).toBe(false)
    for (let bit = 0; bit < stored.length * 8; bit++) {
      const flipped = stored.slice()
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      expect(isRecord('values', KEY, flipped)).toBe(false)
    }
  }
})
