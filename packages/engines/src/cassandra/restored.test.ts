/** A snapshot that was restored while no server ran: the store begins another log. */
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import {
  createSteadyClient,
  endCassandra,
  isCassandraInstalled,
  type RunningCassandra,
  startCassandra,
} from '../under-test/start-cassandra.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'
import { openCassandraStore } from './open-cassandra-store.js'
import { TABLES } from './statements.js'

const isInstalled = isCassandraInstalled()
if (!isInstalled) console.warn('Not tested: snapshots of Cassandra. They need Java and Maven.')

let cassandra: RunningCassandra
const stores: Store[] = []
beforeAll(async () => {
  if (isInstalled) cassandra = await startCassandra({ hasNodetool: true })
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})
afterAll(endCassandra)

const opener = (keyspace: string) => async (recalled?: LogPlace) => {
  const url = `${cassandra.url}/${keyspace}?replication=1`
  const store = await openCassandraStore({ url, recalled, onWarning: () => {} })
  stores.push(store)
  return store
}
const folderOf = (keyspace: string) => join(cassandra.folder, 'node-1', 'data', keyspace)
const eachTable = (keyspace: string) => readdirSync(folderOf(keyspace)).map(name => join(folderOf(keyspace), name))
const copyBack = (table: string) => cpSync(join(table, 'snapshots', 'kept'), table, { recursive: true })

async function cql(query: string): Promise<void> {
  const [host] = cassandra.hosts
  const client = createSteadyClient({
    ...{ contactPoints: [host!], localDataCenter: 'datacenter1', protocolOptions: { port: cassandra.port } },
    socketOptions: { readTimeout: 60_000 },
  })
  try {
    await client.connect()
    await client.execute(query)
  } finally {
    await client.shutdown()
  }
}

test.skipIf(!isInstalled)('nodetool snapshot, TRUNCATE and nodetool refresh begin another log', async () => {
  const open = opener('truncated')
  const { lost, store } = await restoreUnnoticed({
    open,
    backUp: () => cassandra.nodetool('snapshot', '-t', 'kept', 'truncated'),
    async restore() {
      for (const table of Object.keys(TABLES)) await cql(`TRUNCATE truncated.${table}`)
      for (const table of eachTable('truncated')) copyBack(table)
      for (const table of Object.keys(TABLES)) await cassandra.nodetool('refresh', 'truncated', table)
    },
  })
  await expectAnotherLog(store, lost)
  const { log } = store
  await store.close()
  expect((await open()).log).toBe(log)
})

test.skipIf(!isInstalled)(
  'files of a snapshot that are copied back while Cassandra is stopped begin another log, if a server remembers its position',
  async () => {
    const open = opener('copied')
    const before = await open()
    const kept = await put(before, 'a/b/1')
    await cassandra.nodetool('snapshot', '-t', 'kept', 'copied')
    const lost = { log: before.log, position: await put(before, 'a/b/1') }
    await before.close()
    const again = await open(lost)
    expect(again.log).toBe(lost.log)
    const known = { log: again.log, position: await again.position() }
    await again.close()
    // On startup Cassandra would replay its commit log over the files.
    await cassandra.nodetool('drain')
    await cassandra.kill()
    rmSync(join(cassandra.folder, 'node-1', 'commitlog'), { recursive: true })
    for (const table of eachTable('copied')) {
      for (const file of readdirSync(table, { withFileTypes: true })) if (file.isFile()) rmSync(join(table, file.name))
      copyBack(table)
    }
    await cassandra.startAgain()
    const store = await open(known)
    expect((await store.get('a/b/1'))?.version).toBe(kept)
    await expectAnotherLog(store, known)
  },
)
