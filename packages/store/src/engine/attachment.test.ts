/** What a server concludes from the database that it finds and from what it knows. */
import { describe, expect, test } from 'vitest'
import { Attachment, type Found, judge, positionAfter } from './attachment.js'

const FOUND: Found = {
  log: 'log',
  position: 100,
  trimmedTo: 10,
  isSkipped: false,
  isSameEngine: true,
  isSameRun: true,
  mayHaveLost: true,
}

describe('the log', () => {
  test.each([
    ['goes on', 'for a server that knows nothing', {}, { log: '', position: 0 }, 'go-on'],
    ['goes on', 'if all that is known is there', {}, { log: 'log', position: 100 }, 'go-on'],
    ['goes on', 'if what is known was trimmed', {}, { log: 'log', position: 5 }, 'go-on'],
    ['is another', 'if a position is known that is not there', {}, { log: 'log', position: 101 }, 'start-over'],
    ['is another', 'if one was passed over', { isSkipped: true }, { log: 'log', position: 50 }, 'start-over'],
    ['goes on', 'if the log before it is known', { isSkipped: true }, { log: 'before', position: 9 }, 'go-on'],
    ['is another', 'if the one before reached further', {}, { log: 'before', position: 10 }, 'start-over'],
    ['is another', 'on another engine', { isSameEngine: false }, { log: 'log', position: 100 }, 'start-over'],
    ['is another', 'after a start that may lose', { isSameRun: false }, { log: 'log', position: 100 }, 'start-over'],
    ['skips', 'after one that may not', { isSameRun: false, mayHaveLost: false }, { log: 'log', position: 9 }, 'skip'],
  ] as const)('%s %s', (_, __, found, known, verdict) => {
    expect(judge({ ...FOUND, ...found }, known)).toBe(verdict)
  })
})

test('positions continue beyond every position found and every position known', () => {
  const far = Number.MAX_SAFE_INTEGER - 10
  expect(positionAfter('skip', { ...FOUND, position: far }, { log: 'log', position: 1 })).toBe(far)
  expect(positionAfter('start-over', FOUND, { log: 'log', position: far })).toBe(far + 1)
  expect(positionAfter('skip', FOUND, { log: 'log', position: 1 })).toBeGreaterThan(FOUND.position)
})

test('connections end when the database or its log is a different one, and only then', () => {
  let others = 0
  const attachment = new Attachment({ log: 'a', position: 1, run: '1' }, () => others++)
  attachment.learn(7)
  attachment.attach({ log: 'a', position: 5, run: '1' })
  expect([others, attachment.known]).toEqual([0, { log: 'a', position: 7 }])
  attachment.attach({ log: 'a', position: 8, run: '2' })
  expect([others, attachment.known]).toEqual([1, { log: 'a', position: 8 }])
  attachment.attach({ log: 'b', position: 9, run: '2' })
  expect([others, attachment.known]).toEqual([2, { log: 'b', position: 9 }])
})
