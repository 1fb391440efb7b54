/** For tests of stores over a log: the entries of a dropped index are removed. */
import type { Store } from '@freshet/core/store'
import { expect } from 'vitest'
import { eventually } from './eventually.js'

const BODY = Buffer.from('{"a":1}')

/** `countEntries`: how many index entries there are in the tables, or on the nodes. */
export async function testDroppedIndex(store: Store, countEntries: () => Promise<number>): Promise<void> {
  const declare = (names: string[]) => {
    const indexes = names.map(name => ({ name, fields: [name] }))
    return store.commit({ writes: [{ key: 'a/b', contentType: 'application/json', body: BODY, indexes }] })
  }
  const writes = Array.from({ length: 1200 }, (_, i) => ({
    key: `a/b/${i}`,
    contentType: 'application/json',
    body: BODY,
  }))
  await store.commit({ writes })
  await declare(['a'])
  await eventually('it is built', async () => (await store.indexes('a/b'))[0]?.isReady === true)
  expect(await store.indexes('a/b')).toMatchObject([{ done: 1200, total: 1200 }])
  await eventually('its entries are written', async () => (await countEntries()) === 1200)
  await declare([])
  await eventually('its entries are gone', async () => (await countEntries()) === 0)
  expect((await store.query('a/b', { where: { a: 1 }, limit: 5 })).entries).toHaveLength(5)
}
