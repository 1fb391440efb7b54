import { expect, test } from 'vitest'
import { StaleCounter } from './stale-counter.js'

function counterOf(...acknowledgedMs: readonly number[]): StaleCounter {
  const counter = new StaleCounter(1000)
  for (const nowMs of acknowledgedMs) counter.acknowledged('tea', nowMs)
  return counter
}

test('a read is stale if a newer version was acknowledged before the read began', () => {
  const counter = counterOf(0, 100)
  counter.read('tea', 0, 150)
  counter.read('tea', 1, 150)
  expect(counter.result()).toEqual({ reads: 2, stale: 1, beyondBound: 0, oldestMs: 50 })
})

test('a read that began before the acknowledgement is not stale', () => {
  const counter = counterOf(0, 100)
  counter.read('tea', 0, 99)
  counter.read('tea', 0, 100)
  expect(counter.result()).toEqual({ reads: 2, stale: 0, beyondBound: 0, oldestMs: 0 })
})

test('the age of a read counts from the write that replaced what it returned, not from the newest one', () => {
  const counter = counterOf(0, 100, 2000)
  counter.read('tea', 0, 2100)
  counter.read('tea', 1, 2100)
  expect(counter.result()).toEqual({ reads: 2, stale: 2, beyondBound: 1, oldestMs: 2000 })
})

test('the newest version is the last that was acknowledged', () => {
  expect(counterOf(0, 100).newest('tea')).toBe(1)
  expect(counterOf().newest('tea')).toBeUndefined()
})
