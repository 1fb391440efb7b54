import { expect, test } from 'vitest'
import { ResultMap } from './result-map.js'

test('the least recently used result is forgotten first, and a result that is too large is never kept', () => {
  const results = new ResultMap<string>(4000, value => [[value]])
  const kept = (length: number) => 'x'.repeat(length)
  results.set('a', kept(700))
  results.set('b', kept(700))
  results.get('a')
  results.set('c', kept(700))
  results.set('d', kept(5000))
  expect(['a', 'b', 'c', 'd'].map(key => results.get(key) !== undefined)).toEqual([true, false, true, false])
  for (let i = 0; i < 100; i++) results.set('a', kept(700))
  expect(['a', 'c'].map(key => results.get(key) !== undefined)).toEqual([true, true])
})
