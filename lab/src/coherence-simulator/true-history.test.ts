import { expect, it } from 'vitest'
import { EventQueue } from '../simulator/event-queue.js'
import { TrueHistory } from './true-history.js'

const PATH = '/db/shop/b0/1'
const KEY = 'shop/b0/1'

it('a commit is stamped first and visible later, in order', () => {
  const queue = new EventQueue()
  const history = new TrueHistory(queue, 1000)
  const visible: number[] = []
  history.commit(KEY, false, 500, 0, position => visible.push(position))
  history.commit(KEY, true, 10, 2, position => visible.push(position))
  queue.runUntil(499)
  expect([history.position, history.state(PATH)]).toEqual([0, { changedAt: 0, isAbsent: true }])
  queue.runUntil(500)
  expect(visible).toEqual([1, 4])
  expect(history.log.map(({ timeMs, visibleMs }) => [timeMs, visibleMs])).toEqual([
    [1000, 500],
    [1000, 500],
  ])
})

it('knows the state at every position, and the position at every time', () => {
  const queue = new EventQueue()
  const history = new TrueHistory(queue, 1000)
  history.commit(KEY, false, 10, 0, () => {})
  queue.runUntil(20)
  history.commit(KEY, true, 10, 0, () => {})
  queue.runUntil(100)
  expect([0, 1, 2].map(position => history.stateAt(PATH, position).changedAt)).toEqual([0, 1, 2])
  expect(history.stateAt('/db/shop/b0', 2).isAbsent).toBe(false)
  expect([10, 11, 30, 31].map(timeMs => history.positionAt(timeMs))).toEqual([0, 1, 1, 2])
  expect(history.log.map(({ created }) => created)).toEqual([[KEY], []])
})

it('the clock stops while no server is up, never runs ahead, and does not follow the wall clock', () => {
  const queue = new EventQueue()
  const history = new TrueHistory(queue, 1000)
  queue.runUntil(10_000)
  const before = history.nowMs()
  expect(before).toBeLessThanOrEqual(1000 + 10_000)
  history.setRunning(false)
  history.wallErrorMs = 3_600_000
  queue.runUntil(70_000)
  expect(history.nowMs()).toBe(before)
  history.setRunning(true)
  queue.runUntil(71_000)
  expect(history.nowMs() - before).toBeGreaterThan(990)
  expect(history.nowMs() - before).toBeLessThanOrEqual(1000)
})
