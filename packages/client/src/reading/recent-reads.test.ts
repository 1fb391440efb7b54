import { expect, test } from 'vitest'
import { objectRequest } from './read-request.js'
import { RecentReads } from './recent-reads.js'

const HOT = objectRequest('/db/shop/products/hot', 'text')
const COLD = objectRequest('/db/shop/products/cold', 'text')

function changeOf(...paths: readonly string[]) {
  return (path: string) => (paths.includes(path) ? 7 : undefined)
}

test('recent reads whose data has changed are fetched, the latest first', () => {
  const recent = new RecentReads()
  recent.note(COLD, 0)
  recent.note(HOT, 1)
  expect(recent.changed(changeOf(HOT.path, COLD.path), 2).toFetch.map(({ request }) => request)).toEqual([HOT, COLD])
})

test('an object that changes more often than it is read is fetched ahead once for each read', () => {
  const recent = new RecentReads()
  const changed = changeOf(HOT.path)
  recent.note(HOT, 0)
  expect(recent.changed(changed, 1)).toEqual({ toFetch: [{ request: HOT, at: 7 }], hasOthers: false })
  expect(recent.changed(changed, 2)).toEqual({ toFetch: [], hasOthers: true })
  recent.note(HOT, 3)
  expect(recent.changed(changed, 4)).toEqual({ toFetch: [{ request: HOT, at: 7 }], hasOthers: false })
})

test('reads from long ago, and reads whose data has not changed, are left alone', () => {
  const recent = new RecentReads()
  recent.note(HOT, 0)
  expect(recent.changed(changeOf(HOT.path), 60_000)).toEqual({ toFetch: [], hasOthers: false })
  expect(recent.changed(changeOf(COLD.path), 1)).toEqual({ toFetch: [], hasOthers: false })
})
