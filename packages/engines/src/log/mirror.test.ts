import { expect, test } from 'vitest'
import { type LogRecord, NO_EFFECTS } from './log-record.js'
import { Mirror } from './mirror.js'
import { Turns } from './turns.js'

const STATE = {
  log: 'log',
  position: 0,
  stamp: 0,
  timeMs: 0,
  trimmedTo: 0,
  firstPart: 0,
  applied: 0,
  done: [],
  again: [],
  append: new Turns().note,
}

/** A record that writes one key. */
function record(slot: number, key: string, size = 1, more: Partial<LogRecord['state']> = {}): LogRecord {
  const value = { version: slot, contentType: 'text/plain', body: Buffer.alloc(size, slot) }
  return {
    slot,
    id: `${slot}`,
    state: { ...STATE, position: slot, stamp: slot, ...more },
    commits: [{ keys: [key], tags: [] }],
    effects: { ...NO_EFFECTS, objects: new Map([[key, value]]) },
  }
}

function newMirror(): Mirror {
  return new Mirror({ slot: 0, id: '0', state: STATE, commits: [], effects: NO_EFFECTS })
}

test('records are absorbed in order, each once', () => {
  const mirror = newMirror()
  expect(mirror.absorb(record(1, 'a'))).toBe(true)
  expect(mirror.absorb(record(1, 'a'))).toBe(false)
  expect(() => mirror.absorb(record(3, 'a'))).toThrow('does not follow')
  expect(mirror.absorb(record(2, 'a'))).toBe(true)
  expect(mirror.objects.get('a')?.version).toBe(2)
  expect([mirror.idAt(1), mirror.idAt(2), mirror.idAt(3)]).toEqual(['1', '2', undefined])
  expect(mirror.entriesAfter(1)?.map(({ position }) => position)).toEqual([2])
})

test('rows count as written up to the first slot whose rows are unwritten, whichever servers wrote them', () => {
  const mirror = newMirror()
  for (const slot of [1, 2, 3]) mirror.absorb(record(slot, `${slot}`))
  expect(mirror.unapplied().map(({ slot }) => slot)).toEqual([1, 2, 3])
  mirror.applyDone(2)
  mirror.applyDone(3)
  expect([mirror.applied, mirror.unreported()]).toEqual([0, [2, 3]])
  // Another server reports in a record of its own that it has written the rows of slot 1.
  mirror.absorb(record(4, '4', 1, { done: [1] }))
  expect([mirror.applied, mirror.unreported()]).toEqual([3, []])
  expect(mirror.unapplied().map(({ slot }) => slot)).toEqual([4])
})

test('a pin keeps the records appended since, however much the mirror forgets', () => {
  const mirror = newMirror()
  const size = 1024 * 1024
  mirror.absorb(record(1, 'first', size))
  mirror.applyDone(1)
  const pin = mirror.pin()
  for (let slot = 2; slot < 100; slot++) {
    mirror.absorb(record(slot, `${slot}`, size))
    mirror.applyDone(slot)
  }
  expect(mirror.applied).toBe(99)
  expect(pin.recordsSince().map(({ slot }) => slot)).toEqual(Array.from({ length: 98 }, (_, i) => i + 2))
  expect(mirror.objects.has('first')).toBe(false)
  expect(mirror.objects.has('2')).toBe(true)
  pin.release()
  expect(mirror.objects.has('2')).toBe(false)
  expect(mirror.objects.has('99')).toBe(true)
})

test('a value that was read is kept unless the log has a newer one', () => {
  const mirror = newMirror()
  mirror.objects.learn('a', undefined)
  mirror.absorb(record(1, 'a'))
  mirror.objects.learn('a', undefined)
  expect(mirror.objects.get('a')?.version).toBe(1)
})
