import { expect, it } from 'vitest'
import { createRandom } from '../harness/random.js'
import { EventQueue } from './event-queue.js'

it('does things by time, and in the order they were entered where the time is the same', () => {
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
  expect(happened.length).toBe(entered)
  expect(happened).toEqual([...happened].sort((a, b) => a.timeMs - b.timeMs || a.order - b.order))
})

it('leaves what is due later', () => {
  const queue = new EventQueue()
  const happened: number[] = []
  for (const delayMs of [5, 10, 15]) queue.after(delayMs, () => happened.push(delayMs))
  queue.runUntil(10)
  expect([happened, queue.nowMs, queue.size]).toEqual([[5, 10], 10, 1])
})
