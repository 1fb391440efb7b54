/** What a database that goes away, hangs, or loses something must not do to commits. */
import type { Store } from '@freshet/core/store'
import { type Connection, createConnection } from 'mariadb'
import { beforeAll, describe, expect, test } from 'vitest'
import { allChanges, aPut, put, until } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'
import { SqlStage, urlAt } from '../under-test/sql-stage.js'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { testSqlFaults } from '../under-test/test-sql-faults.js'
import { type MariadbStoreOptions, openMariadbStore } from './open-mariadb-store.js'

/** A commit becomes visible, and is acknowledged, once a replica has it. */
const SEMI_SYNCHRONOUS = {
  log_bin: 'binary-log',
  sync_binlog: '1',
  server_id: '1',
  rpl_semi_sync_master_enabled: 'ON',
  rpl_semi_sync_master_wait_point: 'AFTER_SYNC',
  rpl_semi_sync_master_timeout: '3600000',
  // Until there is a replica.
  rpl_semi_sync_master_wait_no_slave: 'OFF',
}
let mariadb: RunningMariadb
const stage = new SqlStage({
  start: startMariadb,
  end: endMariadb,
  open: ({ space, ...options }) => openMariadbStore({ ...options, prefix: space }),
  committing: 'log VALUES (',
  isAnswered,
})

beforeAll(async () => {
  mariadb = await startMariadb()
})

testSqlFaults(
  stage,
  () => mariadb,
  async () => {
    const primary = await startMariadb({ settings: SEMI_SYNCHRONOUS })
    const replica = await startMariadb({ replicaOf: primary, settings: { rpl_semi_sync_slave_enabled: 'ON' } })
    await untilFollowed(primary)
    return { primary, replica, promote: () => replica.promote() }
  },
)

test('reads show commits of another server once they are on disk, and older data at once', async () => {
  const prefix = stage.space()
  const [store, other] = [await open({ prefix }), await open({ prefix })]
  await put(store, 'a/b/old')
  const heard: number[] = []
  other.onCommit(position => heard.push(position))
  await other.position()
  const client = await connect()
  // So that `other` cannot flush.
  await client.query(`BEGIN; SELECT * FROM ${prefix}flushes FOR UPDATE`)
  const position = await put(store, 'a/b/new')
  let answered = 0
  const reads = [
    other.get('a/b/new'),
    other.get('a/b/none'),
    other.getMany(['a/b/new']),
    other.scan('a/b'),
    other.query('a/b', {}),
    other.buckets(),
    other.changes(position - 1),
    other.commit({ reads: [{ key: 'a/b/new', version: position }], writes: [] }),
  ].map(read => Promise.resolve(read).then(() => answered++))
  expect((await other.get('a/b/old'))?.body.length).toBe(1)
  expect((await store.get('a/b/new'))?.version).toBe(position)
  await untilWaiting(client, 3)
  expect(answered).toBe(0)
  expect(heard.filter(each => each >= position)).toEqual([])
  await client.query('ROLLBACK')
  await Promise.all(reads)
  await until(() => heard.at(-1)! >= position)
})

test('a connection that falls silent does not keep the store from being closed', async () => {
  const line = await stage.line(mariadb)
  const store = await open({ url: urlAt(mariadb, line.port), patienceMs: 2000, waitMsMax: 2000 })
  await put(store, 'a/b/1')
  await store.get('a/b/1')
  line.silence()
  await store.close()
})

describe('a commit that the database gives up', () => {
  test('in favour of another is retried', async () => {
    const prefix = stage.space()
    const store = await open({ prefix })
    await put(store, 'a/b/1')
    const client = await connect()
    // InnoDB aborts the transaction that has written less.
    await client.query(`CREATE TABLE ${prefix}weight (n INT) ENGINE = InnoDB`)
    await client.query(`BEGIN; INSERT INTO ${prefix}weight SELECT seq FROM seq_1_to_1000`)
    await client.query(`SELECT * FROM ${prefix}objects FOR UPDATE`)
    const before = await statusOf(client, 'Innodb_deadlocks')
    const committing = put(store, 'a/b/1')
    // It has the head, and waits for the object; now this client waits for the head.
    await untilWaiting(client, 1)
    await client.query(`SELECT * FROM ${prefix}head FOR UPDATE`)
    expect(await statusOf(client, 'Innodb_deadlocks')).toBeGreaterThan(before)
    await client.query('ROLLBACK')
    const position = await committing
    expect((await store.get('a/b/1'))?.version).toBe(position)
    expect((await allChanges(store)).length).toBe(2)
  })

  test.each(['head', 'objects'])('because it waited too long for its %s is retried', async table => {
    const prefix = stage.space()
    const store = await open({ prefix, patienceMs: 1000 })
    await put(store, 'a/b/2')
    const client = await connect()
    await client.query(`BEGIN; SELECT * FROM ${prefix}${table} FOR UPDATE`)
    const waits = await statusOf(client, 'Innodb_row_lock_waits')
    const committing = store.commit({ writes: [aPut('a/b/1'), aPut('a/b/2'), aPut('a/b/3')] })
    await eventually('it waits once more', async () => (await statusOf(client, 'Innodb_row_lock_waits')) >= waits + 3)
    // Nothing is left of what the aborted attempt had written.
    expect(await store.get('a/b/1')).toBe(undefined)
    await client.query('ROLLBACK')
    const { position } = (await committing) as { position: number }
    for (const key of ['a/b/1', 'a/b/2', 'a/b/3']) expect((await store.get(key))?.version).toBe(position)
    expect((await allChanges(store)).length).toBe(2)
  })
})

describe('opening', () => {
  test('reports a URL that names no database', async () => {
    const error = await openMariadbStore({ url: 'mariadb://127.0.0.1' }).catch(failure => failure)
    expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(error.message).toMatch(/cannot be understood/)
  })

  test('reports a wrong password, and a user who may not create tables', async () => {
    const client = await connect()
    await client.query(`CREATE USER guest@'127.0.0.1' IDENTIFIED BY 'secret'`)
    await client.query(`GRANT SELECT ON freshet.* TO guest@'127.0.0.1'`)
    const as = (password: string) => mariadb.url.replace('root@', `guest:${password}@`)
    for (const [password, text] of [
      ['wrong', /password/],
      ['secret', /may not/],
    ] as const) {
      const error = await openMariadbStore({ url: as(password), prefix: stage.space() }).catch(failure => failure)
      expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
      expect(error.message).toMatch(text)
      expect(error.message).not.toContain('secret')
    }
  })

  test('reports that a server is read-only', async () => {
    const own = await startMariadb()
    const prefix = stage.space()
    const client = await connect(own)
    await client.query(`CREATE USER writer@'127.0.0.1'; GRANT ALL ON freshet.* TO writer@'127.0.0.1'`)
    const url = own.url.replace('root@', 'writer@')
    const store = await open({ url, prefix, waitMsMax: 1000 })
    await client.query('SET GLOBAL read_only = 1')
    for (const attempt of [() => openMariadbStore({ url: own.url }), () => put(store, 'a/b/c')]) {
      const error = await attempt().catch(failure => failure)
      expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
      expect(error.message).toMatch(/read-only/)
    }
  })

  test('refuses tables of a newer Freshet, and a binary log of statements', async () => {
    const prefix = stage.space()
    await (await openMariadbStore({ url: mariadb.url, prefix })).close()
    const client = await connect()
    await client.query(`UPDATE ${prefix}head SET format = 99`)
    await expect(openMariadbStore({ url: mariadb.url, prefix })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    await expect(openMariadbStore({ url: mariadb.url, prefix: 'x; DROP' })).rejects.toThrow(TypeError)
    const own = await startMariadb({ settings: { log_bin: 'binlog', binlog_format: 'STATEMENT', sync_binlog: '1' } })
    await expect(openMariadbStore({ url: own.url })).rejects.toThrow(/binlog_format/)
  })

  test.each([
    ['innodb_flush_log_at_trx_commit = 2', { innodb_flush_log_at_trx_commit: '2' }],
    ['innodb_flush_log_at_trx_commit = 0', { innodb_flush_log_at_trx_commit: '0' }],
    ['sync_binlog = 0', { log_bin: 'binlog', sync_binlog: '0' }],
    ['innodb_doublewrite = OFF', { innodb_doublewrite: 'OFF' }],
    ['nothing', { log_bin: 'binlog', sync_binlog: '1' }],
  ])('warns about %s', async (text, settings) => {
    const own = await startMariadb({ settings })
    stage.closeLater({ close: () => own.stop() })
    const warnings: string[] = []
    const store = await open({ url: own.url, onWarning: warning => warnings.push(warning) })
    const isSafe = text === 'nothing'
    expect(store.supports.durability).toBe(isSafe ? 'disk' : 'relaxed')
    expect(warnings.length).toBe(isSafe ? 0 : 1)
    if (!isSafe) expect(warnings[0]).toContain(text)
    const position = await put(store, 'a/b/c')
    expect((await store.get('a/b/c'))?.version).toBe(position)
  })
})

function open({ prefix, ...options }: Partial<MariadbStoreOptions>): Promise<Store> {
  return stage.open({ url: mariadb.url, ...(prefix && { space: prefix }), ...options })
}

async function connect({ port }: RunningMariadb = mariadb): Promise<Connection> {
  const client = await createConnection({
    ...{ host: '127.0.0.1', port, user: 'root', database: 'freshet' },
    multipleStatements: true,
    bigIntAsNumber: true,
  })
  // Its server may be killed.
  client.on('error', () => {})
  stage.closeLater({ close: () => client.end().catch(() => {}) })
  return client
}

/** An OK packet without rows: no open transaction, no more results, no warnings. */
function isAnswered(bytes: Buffer): boolean {
  return bytes.subarray(-7).equals(Buffer.of(0, 0, 0, 2, 0, 0, 0))
}

async function statusOf(client: Connection, name: string): Promise<number> {
  const [{ Value }] = await client.query('SHOW GLOBAL STATUS WHERE Variable_name = ?', [name])
  return Number(Value)
}

/** Until a replica acknowledges commits. */
async function untilFollowed(primary: RunningMariadb): Promise<void> {
  const client = await connect(primary)
  await eventually('it is followed', async () => (await statusOf(client, 'Rpl_semi_sync_master_clients')) > 0)
  await client.query('SET GLOBAL rpl_semi_sync_master_wait_no_slave = ON')
}

/** Until `count` connections wait for a lock. */
async function untilWaiting(client: Connection, count: number): Promise<void> {
  await eventually('a connection waits', async () => (await statusOf(client, 'Innodb_row_lock_current_waits')) >= count)
}
