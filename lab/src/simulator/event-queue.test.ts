import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { EventQueue } from './event-queue.js'

it('runs actions by time, and in the order of entry at the same time', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 100 }), delays => {
      const queue = new EventQueue()
      const done: [number, number][] = []
      delays.forEach((delay, i) => {
        queue.after(delay, () => done.push([queue.nowMs, i]))
      })
      queue.runUntil(100)
      const expected = delays.map((delay, i): [number, number] => [delay, i])
      expect(done).toEqual(expected.sort(([a, i], [b, j]) => a - b || i - j))
    }),
  )
})

it('keeps that order while thousands of actions enter further actions', () => {
  const random = createRandom(3)
  const queue = new EventQueue()
  const happened: { timeMs: number; order: number }[] = []
  let entered = 0
  const enter = () => {
    const order = entered++
    queue.after(random.below(20), () => {
      happened.push({ timeMs: queue.nowMs, order })
      if (entered < 5000) {
        enter()
        enter()
      }
    })
  }
  for (let i = 0; i < 100; i++) enter()
  queue.runUntil(Number.MAX_SAFE_INTEGER)
  expect([happened.length, queue.done]).toEqual([entered, entered])
  expect(happened).toEqual([...happened].sort((a, b) => a.timeMs - b.timeMs || a.order - b.order))
})

it('stops at the end, runs actions entered meanwhile, and leaves later ones', () => {
  const queue = new EventQueue()
  const happened: number[] = []
  queue.every(
    () => 10,
    () => happened.push(queue.nowMs),
  )
  queue.at(56, () => happened.push(-1))
  queue.runUntil(55)
  expect([happened, queue.nowMs, queue.size, queue.nextMs]).toEqual([[10, 20, 30, 40, 50], 55, 2, 56])
})
