import { FilterError } from '@freshet/bloom'
import { expect, test } from 'vitest'
import { addKey, addTen, askFor, createTrial, findFalsePositive, ownBits } from './trial.js'

test('a key is definitely absent before it is added, and probably present after', () => {
  const trial = createTrial(20, 0.02)
  expect(askFor(trial, 'a')).toMatchObject({ tone: 'no', verdict: 'Surely not.' })
  expect(addKey(trial, 'a').because).toBe(`${ownBits(trial.bloom, 'a').length} bits newly set.`)
  expect(askFor(trial, 'a')).toMatchObject({ tone: 'yes', verdict: 'Probably yes.' })
})

test('a key added twice counts once', () => {
  const trial = createTrial(20, 0.02)
  addKey(trial, 'a')
  expect(addKey(trial, 'a').verdict).toBe('Added before.')
  expect(trial.bloom.count).toBe(1)
})

test('bits that other keys have set are distinguished from new bits', () => {
  const trial = createTrial(20, 0.02)
  for (let i = 0; i < 5; i++) addTen(trial)
  expect(trial.added.size).toBe(50)
  expect(addKey(trial, 'a').because).toMatch(/^\d bits? newly set, \d already set by other keys\.$/)
})

test('a false positive is found in a filter that has some, and none in an empty filter', () => {
  const trial = createTrial(20, 0.02)
  expect(findFalsePositive(trial)).toBeUndefined()
  addTen(trial)
  const key = findFalsePositive(trial)!
  expect(trial.added.has(key)).toBe(false)
  expect(askFor(trial, key).tone).toBe('wrong')
})

test('a filter too large to draw is refused before it is created', () => {
  expect(() => createTrial(10_000_000, 0.01)).toThrow(/this page draws up to 2048/)
  expect(() => createTrial(20, 2)).toThrow(FilterError)
})
