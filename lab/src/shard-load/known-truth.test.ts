import { expect, test } from 'vitest'
import { SessionHistory } from './known-truth.js'

test('rows of several states, steps backwards and impossible pairs of tables are reported', () => {
  const history = new SessionHistory()
  history.take({ accountsMin: 1, accountsMax: 2, isWhole: true })
  history.take({ accountsMin: 2, accountsMax: 2, isWhole: false })
  expect(history).toMatchObject({ results: 2, inconsistent: 2, backwards: 0 })
  history.take({ accountsMin: 2, accountsMax: 2, ratesMin: 1, ratesMax: 1, isWhole: true })
  history.take({ ratesMin: 0, ratesMax: 0, isWhole: true })
  expect(history).toMatchObject({ results: 4, inconsistent: 2, backwards: 1 })
  expect(history.impossiblePairs(['accounts', 'rates', 'accounts'])).toBe(0)
  expect(history.impossiblePairs(['accounts', 'accounts', 'accounts', 'rates'])).toBe(1)
})
