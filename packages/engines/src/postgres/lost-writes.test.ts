import type { Store } from '@freshet/core/store'
import pg from 'pg'
import { expect, test } from 'vitest'
import { allChanges, put } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'
import { SqlStage } from '../under-test/sql-stage.js'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { killAndStart, LOSSY_SPACE, type LossyPair, testLostWrites } from '../under-test/test-lost-writes.js'
import { openPostgresStore } from './open-postgres-store.js'

const stage = new SqlStage({
  start: startPostgres,
  end: endPostgres,
  open: ({ space, ...options }) => openPostgresStore({ ...options, schema: space }),
  committing: 'putCommits',
})

testLostWrites(stage, startPair)

test('the log is another one, even if no server was running while the standby took over', async () => {
  const { primary, replica, ...pair } = await startPair()
  const first = await open(primary.url)
  const before = await put(first, 'a/b/1')
  await eventually('the standby has it', async () => (await pair.positionOfReplica()) >= before)
  await pair.stopFollowing()
  const lost = await put(first, 'a/b/1')
  await first.close()
  await primary.kill()
  await pair.promote()
  const store = await open(replica.url)
  expect(store.log).not.toBe(first.log)
  expect(await store.trimmedTo()).toBeGreaterThan(lost)
})

test('a crash with synchronous_commit = off: the log is another one; after a clean restart it is the same', async () => {
  const postgres = await startPostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } })
  const store = await open(postgres.url)
  const { log } = store
  await put(store, 'a/b/1')
  await restart(postgres)
  const before = await put(store, 'a/b/1')
  await allChanges(store)
  expect(store.log).toBe(log)
  await killAndStart(postgres)
  expect(await put(store, 'a/b/2')).toBeGreaterThan(before)
  await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  expect(store.log).not.toBe(log)
})

test('a process of a database with synchronous_commit = off crashes: the log is another one, even for a new server', async () => {
  const postgres = await startPostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } })
  const first = await open(postgres.url)
  await put(first, 'a/b/1')
  await first.close()
  const [client, witness] = [await connect(postgres), await connect(postgres)]
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  // The database has noticed once it ends all other connections.
  const noticed = new Promise<void>(resolve => witness.once('end', resolve))
  process.kill(rows[0].pid, 'SIGKILL')
  await noticed
  let store: Store | undefined
  await eventually('it is back', async () => {
    store = await open(postgres.url).catch(() => undefined)
    return store !== undefined
  })
  expect(store!.log).not.toBe(first.log)
})

function open(url: string): Promise<Store> {
  return stage.open({ url, space: LOSSY_SPACE, onWarning: () => {} })
}

/** The standby replicates over a line of its own. */
async function startPair(): Promise<LossyPair> {
  const primary = await startPostgres()
  const toStandby = await stage.line(primary)
  const replica = await startPostgres({ standbyOf: { ...primary, port: toStandby.port } })
  return {
    ...{ primary, replica, positionOfReplica: () => positionOf(replica) },
    stopFollowing: async () => toStandby.cut(),
    promote: async () => {
      const client = await connect(replica)
      await client.query('SELECT pg_promote()')
    },
  }
}

async function positionOf(postgres: RunningPostgres): Promise<number> {
  const client = await connect(postgres)
  // The table itself is created by replication.
  const { rows } = await client.query(`SELECT position FROM ${LOSSY_SPACE}.head`).catch(() => ({ rows: [] }))
  await client.end()
  return Number(rows[0]?.position ?? 0)
}

/** A clean restart, as an administrator would do it. */
async function restart(postgres: RunningPostgres): Promise<void> {
  await postgres.shutDown()
  await postgres.startAgain()
}

async function connect({ url }: RunningPostgres): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  stage.closeLater({ close: () => client.end().catch(() => {}) })
  await client.connect()
  return client
}
