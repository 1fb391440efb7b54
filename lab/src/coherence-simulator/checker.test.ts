import type { ReadMode } from '@freshet/core/coherence'
import { expect, it } from 'vitest'
import { EventQueue } from '../simulator/event-queue.js'
import { Checker, SessionRecord } from './checker.js'
import { TrueHistory } from './true-history.js'
import type { Reply } from './wire.js'

const PATH = '/db/shop/b0/1'

/** The object changed at position 1 at time 0, and at position 2 at time 1000. The time is now 5000. */
function setUp() {
  const queue = new EventQueue()
  const history = new TrueHistory(queue, 1000)
  history.commit('shop/b0/1', false, 0, 0, () => {})
  queue.runUntil(1000)
  history.commit('shop/b0/1', false, 0, 0, () => {})
  queue.runUntil(5000)
  const checker = new Checker(history)
  const record = new SessionRecord()
  const read = (changedAt: number, mode: ReadMode, position = 0) => {
    const content = { kind: 'object', version: changedAt, position: undefined, changedAt } as const
    const reply: Reply = { lifetimeMs: 0, isNoStore: false, ageMs: 0, dateMs: 0, content, readMs: 0, servedBy: 'cache' }
    const open = checker.begin('reader', PATH, mode, 60_000, record, queue.nowMs)
    checker.end(open, { at: undefined, reply, position }, queue.nowMs)
    return [...checker.violations.keys()]
  }
  return { read, record, checker }
}

it('reports a read that misses a change visible longer ago than its mode allows', () => {
  expect(setUp().read(1, 'session')).toEqual([])
  expect(setUp().read(1, { withinMs: 4001 })).toEqual([])
  expect(setUp().read(1, { withinMs: 3999 })).toEqual(['staleness'])
  expect(setUp().read(1, 'current')).toEqual(['staleness'])
  expect(setUp().read(2, 'current')).toEqual([])
})

it('reports a read that is older than its session', () => {
  expect(setUp().read(1, 'session', 1)).toEqual([])
  expect(setUp().read(1, 'session', 2)).toEqual(['position'])
})

it('reports a read that goes back, or misses an own write, also in a continued session', () => {
  const seen = setUp()
  seen.read(2, 'session')
  expect(seen.read(1, 'session')).toEqual(['monotonic'])
  const written = setUp()
  written.record.noteWrite(PATH, 2)
  expect(new SessionRecord(written.record).wrote.get(PATH)).toBe(2)
  expect(written.read(1, 'session')).toEqual(['own write'])
  expect(written.checker.first?.trace).toContain('should have got the one at 2')
})

it('accepts any copy in mode any, but remembers what it showed', () => {
  const { read } = setUp()
  expect(read(1, 'any', 2)).toEqual([])
  read(2, 'any')
  expect(read(1, 'session')).toEqual(['monotonic'])
})
