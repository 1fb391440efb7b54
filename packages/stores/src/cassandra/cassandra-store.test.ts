import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { testStore } from '@freshet/core/store/conformance'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endCassandra, type RunningCassandra, startCassandra } from '../under-test/start-cassandra.js'
import { openCassandraStore } from './open-cassandra-store.js'

let cassandra: RunningCassandra
beforeAll(async () => {
  cassandra = await startCassandra()
})
afterAll(endCassandra)

function open(name: string): Promise<Store> {
  return openCassandraStore({ url: `${cassandra.url}/freshet?name=${name}`, onWarning: () => {} })
}

const kit = { describe, test, expect, nextTurn: setImmediate }

describe('alone', () => {
  testStore({
    kit,
    async open() {
      const name = randomUUID()
      let store = await open(name)
      return {
        store,
        async reopen() {
          await store.close()
          store = await open(name)
          return store
        },
        dispose: () => store.close(),
      }
    },
    steps: 2000,
  })
})

describe('with another server', () => {
  testStore({
    kit,
    async open() {
      const name = randomUUID()
      let store = await open(name)
      const peer = await open(name)
      return {
        store,
        peer,
        async reopen() {
          await peer.close()
          await store.close()
          store = await open(name)
          return store
        },
        async dispose() {
          await peer.close()
          await store.close()
        },
      }
    },
    seed: 2,
    steps: 2000,
  })
})

test('a commit that writes nothing is validated by the latest state, though nobody would refuse an append', async () => {
  const name = randomUUID()
  const [store, peer] = [await open(name), await open(name)]
  const commit = async (by: Store, body: string) => {
    const result = await by.commit({ writes: [{ key: 'a/b/c', contentType: 'text/plain', body: Buffer.from(body) }] })
    return result.committed ? result.position : 0
  }
  const before = await commit(store, '1')
  const validated = { reads: [{ key: 'a/b/c', version: before }], writes: [] }
  // It has read the key, and remembers it.
  expect(await store.commit(validated)).toEqual({ committed: true, position: before })
  const after = await commit(peer, '2')
  const conflicts = [{ key: 'a/b/c', version: after }]
  expect(await store.commit(validated)).toEqual({ committed: false, conflicts })
  await Promise.all([store.close(), peer.close()])
})

test('a read that asks for a position sees it, though another server has committed it', async () => {
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
