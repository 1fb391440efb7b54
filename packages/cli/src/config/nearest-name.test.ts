import { expect, test } from 'vitest'
import { didYouMean, nearestName } from './nearest-name.js'

const NAMES = ['port', 'host', 'workers', 'logLevel', 'lifetimeMs', 'lifetimeMsMax']

test.each([
  ['prot', 'port'],
  ['por', 'port'],
  ['hosts', 'host'],
  ['worker', 'workers'],
  ['log-level', 'logLevel'],
  ['LOG_LEVL', 'logLevel'],
  ['lifetime', 'lifetimeMs'],
])('%s is taken for %s', (typed, meant) => {
  expect(nearestName(typed, NAMES)).toBe(meant)
})

test.each(['', 'x', 'quux', 'colour', 'portcullis-and-more'])('nothing is guessed for %j', typed => {
  expect(nearestName(typed, NAMES)).toBeUndefined()
  expect(didYouMean(typed, NAMES)).toBe('')
})

test('the guess is a question', () => {
  expect(didYouMean('prot', NAMES, name => `--${name}`)).toBe(' Did you mean --port?')
})
