import { expect, test } from 'vitest'
import { RecentMap } from './recent-map.js'

test('a map of recent entries forgets the entry that was set first, and setting an entry again makes it the last', () => {
  const map = new RecentMap<string, number>(2)
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
})
