import { randomUUID } from 'node:crypto'
import type { PutWrite, Store } from '@freshet/core/store'
import type cassandraDriver from 'cassandra-driver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  createSteadyClient,
  endCassandra,
  isCassandraInstalled,
  type RunningCassandra,
  startCassandra,
} from '../under-test/start-cassandra.js'
import { testDroppedIndex } from '../under-test/test-dropped-index.js'
import { openCassandraStore } from './open-cassandra-store.js'

const isInstalled = isCassandraInstalled()
if (!isInstalled) console.warn('Not tested: indexes in Cassandra. They need Java and Maven.')

let cassandra: RunningCassandra
let client: cassandraDriver.Client
beforeAll(async () => {
  if (!isInstalled) return
  cassandra = await startCassandra()
  client = createSteadyClient({
    ...{ contactPoints: [...cassandra.hosts], localDataCenter: 'datacenter1' },
    ...{ protocolOptions: { port: cassandra.port }, socketOptions: { readTimeout: 60_000 } },
  })
  await client.connect()
})
afterAll(async () => {
  await client?.shutdown()
  await endCassandra()
})

function open(keyspace: string, name = 'main'): Promise<Store> {
  return openCassandraStore({ url: `${cassandra.url}/${keyspace}?name=${name}`, onWarning: () => {} })
}

function json(key: string, text: string): PutWrite {
  return { key, contentType: 'application/json', body: Buffer.from(text) }
}

/**
 * When the log of the keyspace `earlier` was created, according to two tables of the schema. Earlier versions noted the first
 * time, and compare it with the second.
 */
async function madeMs(table: string, column: string): Promise<string> {
  const query = `SELECT WRITETIME(${column}) AS made FROM system_schema.${table} WHERE keyspace_name = 'earlier' AND table_name = 'log'`
  return String((await client.execute(query)).first().made)
}

test.skipIf(!isInstalled)('the entries of a dropped index are removed', async () => {
  const name = randomUUID()
  const store = await open('freshet', name)
  await testDroppedIndex(store, async () => {
    const query = 'SELECT COUNT(*) AS count FROM freshet.index_entries WHERE store = ? AND number = 1'
    return (await client.execute(query, [name], { prepare: true })).first().count.toNumber()
  })
  await store.close()
})

test.skipIf(!isInstalled)(
  'a store that a version without indexes made opens, keeps its log, and answers queries',
  async () => {
    const before = await open('earlier')
    const { log } = before
    await before.commit({ writes: [json('a/b/1', '{"a":1}')] })
    await before.commit({ writes: [json('a/b/2', '{"a":2}')] })
    await before.close()
    expect(await madeMs('tables', 'id')).toEqual(await madeMs('columns', 'type'))
    for (const table of ['index_records', 'tags', 'index_entries']) await client.execute(`DROP TABLE earlier.${table}`)
    await client.execute('ALTER TABLE earlier.log DROP indexing')
    const [store, peer] = await Promise.all([open('earlier'), open('earlier')])
    expect([store.log, peer.log]).toEqual([log, log])
    const query = { where: { a: 2 } }
    expect((await store.query('a/b', query)).entries.map(({ id }) => id)).toEqual(['2'])
    const declared = { key: 'a/b', contentType: 'application/json', body: Buffer.from('{}') }
    await store.commit({ writes: [{ ...declared, indexes: [{ name: 'a', fields: ['a'] }] }] })
    await peer.commit({ writes: [json('a/b/3', '{"a":2}')] })
    const found = await peer.query('a/b', query)
    expect(found.entries.map(({ id }) => id)).toEqual(['2', '3'])
    expect(found.dependsOn).toEqual(['a/b?a=[2]'])
    await Promise.all([store.close(), peer.close()])
  },
)
