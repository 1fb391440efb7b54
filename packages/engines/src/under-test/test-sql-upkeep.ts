/** For tests of stores over SQL: data that is no longer needed is removed. */
import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { expect, test } from 'vitest'
import { eventually } from './eventually.js'

export interface UpkeepUnderTest {
  /** A store of its own, and access to its tables: the number of index entries, and the numbers of indexes. */
  open(options: { readonly retentionMs?: number }): Promise<{
    readonly store: Store
    countEntries(): Promise<number>
    indexNumbers(): Promise<string>
    close(): Promise<void>
  }>
}

export function testSqlUpkeep({ open }: UpkeepUnderTest): void {
  test('operations of other programs are forgotten when they are too old to matter, and counted until then', async () => {
    const { store, close } = await open({ retentionMs: 2000 })
    const commitUnder = (id: string) =>
      store.commit({
        writes: [],
        adds: [{ key: 'a/n/x', by: 1, decimals: 0 }],
        operation: { id: { kind: 'foreign', id }, fingerprint: id },
      })
    await Promise.all(['one', 'two', 'three'].map(commitUnder))
    expect(await store.operationCounts()).toMatchObject({ clients: 0, foreign: 3 })
    const doneMs = store.nowMs()
    while (store.nowMs() <= doneMs + 2000) await setImmediate()
    await commitUnder('four')
    await store.forgetOperations()
    expect(await store.operationCounts()).toMatchObject({ foreign: 1 })
    expect(await commitUnder('one')).toMatchObject({ units: [5] })
    await close()
  })

  test('the entries of a dropped index are removed', async () => {
    const { store, countEntries, indexNumbers, close } = await open({})
    const body = Buffer.from('{"a":1}')
    const declare = (fields: string[]) =>
      store.commit({
        writes: [
          {
            key: 'a/b',
            contentType: 'application/json',
            body,
            indexes: fields.map(name => ({ name, fields: [name] })),
          },
        ],
      })
    await declare(['a'])
    const writes = Array.from({ length: 1200 }, (_, i) => ({ key: `a/b/${i}`, contentType: 'application/json', body }))
    await store.commit({ writes })
    expect(await countEntries()).toBe(1200)
    await declare([])
    await eventually('its entries are gone', async () => (await countEntries()) === 0)
    await eventually('it is forgotten', async () => (await indexNumbers()) === '{"last":1,"dropped":[]}')
    await close()
  })
}
