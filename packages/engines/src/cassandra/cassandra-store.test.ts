import { randomUUID } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endCassandra, type RunningCassandra, startCassandra } from '../under-test/start-cassandra.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
import { WALK_SIZE } from '../under-test/walk-size.js'
import { openCassandraStore } from './open-cassandra-store.js'

let cassandra: RunningCassandra
beforeAll(async () => {
  cassandra = await startCassandra()
})
afterAll(endCassandra)

function open(name: string): Promise<Store> {
  return openCassandraStore({ url: `${cassandra.url}/freshet?name=${name}`, onWarning: () => {} })
}

testFleetStore(
  () => {
    const name = randomUUID()
    return () => open(name)
  },
  // All engines plan queries with the same code, and each query takes the longest here.
  { queryBuckets: WALK_SIZE.queryBuckets },
)

test('a commit that writes nothing is validated against the latest state, although it appends nothing', async () => {
  const name = randomUUID()
  const [store, peer] = [await open(name), await open(name)]
  const commit = async (by: Store, body: string) => {
    const result = await by.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from(body) }] })
    return result.committed ? result.position : 0
  }
  const before = await commit(store, '1')
  const validated = { reads: [{ key: 'a/b/c', version: before }], writes: [] }
  // The store has read the key, and remembers it.
  expect(await store.commit(validated)).toEqual({ committed: true, position: before })
  const after = await commit(peer, '2')
  const conflicts = [{ key: 'a/b/c', version: after }]
  expect(await store.commit(validated)).toEqual({ committed: false, conflicts })
  await Promise.all([store.close(), peer.close()])
})

test('a read that asks for a position sees it, even if another server has committed it', async () => {
  const name = randomUUID()
  const [store, peer] = [await open(name), await open(name)]
  const put = { key: 'a/b/c', contentType: 'text/plain', body: Buffer.from('1') }
  for (let i = 0; i < 5; i++) {
    const [own, other] = [await store.commit({ writes: [put] }), await peer.commit({ writes: [put] })]
    if (!own.committed || !other.committed) throw new Error('It was not committed.')
    expect((await store.get('a/b/c', own.position))?.version).toBeGreaterThanOrEqual(own.position)
    expect((await store.get('a/b/c', other.position))?.version).toBe(other.position)
  }
  await Promise.all([store.close(), peer.close()])
})
