/** What a database that goes away, hangs, or loses something may not do to commits. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { type Connection, createConnection } from 'mariadb'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type Added,
  add,
  allChanges,
  aPut,
  operation,
  put,
  textOf,
  until,
  untilAnswered,
} from '../under-test/commits.js'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { type MariadbStoreOptions, openMariadbStore } from './open-mariadb-store.js'

const DEADLINE_MS = 60_000
/** In what goes out together with COMMIT. */
const COMMITTING = 'log VALUES ('
/** A commit is visible, and acknowledged, when a replica has it. */
const SEMI_SYNCHRONOUS = {
  log_bin: 'binary-log',
  sync_binlog: '1',
  server_id: '1',
  rpl_semi_sync_master_enabled: 'ON',
  rpl_semi_sync_master_wait_point: 'AFTER_SYNC',
  rpl_semi_sync_master_timeout: '3600000',
  // Until there is one.
  rpl_semi_sync_master_wait_no_slave: 'OFF',
}
let mariadb: RunningMariadb
let prefixes = 0
const toClose: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  mariadb = await startMariadb()
})
afterEach(async () => {
  for (const each of toClose.splice(0).reverse()) await each.close()
})
afterAll(endMariadb)

describe('a killed database', () => {
  test('of all that was acknowledged or seen nothing is lost, nothing is done twice, and no position is given twice', async () => {
    const prefix = aPrefix()
    const stores = [await open({ prefix }), await open({ prefix })]
    const heard: number[] = []
    stores[1]!.onCommit(position => heard.push(position))
    const done: Added[] = []
    const seen = new Set<number>()
    let isOver = false
    const working = Array.from({ length: 32 }, async (_, worker) => {
      for (let i = 0; !isOver; i++) done.push(await add(stores[i % 2]!, `a/n/${worker}`, i % 3 === 0))
    })
    const watching = Array.from({ length: 4 }, async (_, worker) => {
      while (!isOver) {
        const value = await stores[1]!.get(`a/n/${worker}`)
        if (value) seen.add(value.version)
      }
    })
    for (let kills = 0; kills < 3; kills++) {
      const before = done.length
      await until(() => done.length > before + 300)
      await mariadb.kill()
      await mariadb.startAgain()
    }
    isOver = true
    await Promise.all([...working, ...watching])
    const positions = done.map(({ position }) => position)
    expect(new Set(positions).size).toBe(positions.length)
    for (let worker = 0; worker < 32; worker++) {
      const times = done.filter(({ key }) => key === `a/n/${worker}`).length
      expect(await textOf(stores[worker % 2]!, `a/n/${worker}`)).toBe(`${times}`)
    }
    for (const { again, position } of done) {
      if (again) expect(await again()).toMatchObject({ committed: true, position, replayed: { note: '' } })
    }
    const log = await allChanges(stores[0]!)
    expect(log).toEqual([...positions].sort((a, b) => a - b))
    expect([...seen].filter(position => !log.includes(position))).toEqual([])
    const last = await put(stores[0]!, 'a/b/last')
    await until(() => heard.at(-1)! >= last)
  })

  test('positions go on beyond those that it has forgotten', async () => {
    const own = await startMariadb()
    const prefix = aPrefix()
    const store = await open({ url: own.url, prefix })
    await put(store, 'a/b/1')
    await own.kill()
    const backup = `${own.folder}/backup`
    execFileSync('cp', ['-a', own.data, backup])
    await own.startAgain()
    const forgotten = await put(store, 'a/b/2')
    const restore = async () => {
      await own.kill()
      rmSync(own.data, { recursive: true })
      execFileSync('cp', ['-a', backup, own.data])
      await own.startAgain()
    }
    await restore()
    expect(await store.get('a/b/2')).toBe(undefined)
    const forgottenToo = await put(store, 'a/b/3')
    expect(forgottenToo).toBeGreaterThan(forgotten)
    await store.close()
    await restore()
    const another = await open({ url: own.url, prefix })
    expect(await put(another, 'a/b/1')).toBeGreaterThan(forgottenToo)
  })
})

test('when a replica takes over, what it had acknowledged with the primary is there, and nothing is done twice', async () => {
  const primary = await startMariadb({ settings: SEMI_SYNCHRONOUS })
  const replica = await startMariadb({ replicaOf: primary, settings: { rpl_semi_sync_slave_enabled: 'ON' } })
  await untilFollowed(primary)
  const line = await CuttingLine.open(primary.port)
  toClose.push(line)
  const options = { url: primary.url.replace(`:${primary.port}`, `:${line.port}`), prefix: aPrefix() }
  const stores = [await open(options), await open(options)]
  const done: Added[] = []
  const seen = new Set<number>()
  let isOver = false
  const working = Array.from({ length: 16 }, async (_, worker) => {
    for (let i = 0; !isOver; i++) done.push(await add(stores[i % 2]!, `a/n/${worker % 4}`, i % 3 === 0))
  })
  const watching = (async () => {
    while (!isOver) seen.add((await stores[1]!.get('a/n/0'))?.version ?? 0)
  })()
  await until(() => done.length > 300)
  await primary.kill()
  line.cut()
  await replica.promote()
  line.target = replica.port
  line.mend()
  const before = done.length
  await until(() => done.length > before + 300)
  isOver = true
  await Promise.all([...working, watching])
  const positions = done.map(({ position }) => position)
  // The log begins anew, for it cannot be known that nothing was lost.
  const begin = await stores[0]!.trimmedTo()
  expect(await allChanges(stores[0]!)).toEqual(positions.filter(each => each > begin).sort((a, b) => a - b))
  expect(new Set(positions).size).toBe(positions.length)
  expect([...seen].filter(position => position > 0 && !positions.includes(position))).toEqual([])
  const sums = await Promise.all([0, 1, 2, 3].map(async i => Number(await textOf(stores[1]!, `a/n/${i}`))))
  expect(sums.reduce((sum, each) => sum + each, 0)).toBe(done.length)
  expect(await put(stores[0]!, 'a/b/last')).toBeGreaterThan(Math.max(...positions))
  for (const { again, position } of done.slice(-100)) {
    if (again) expect(await again()).toMatchObject({ committed: true, position, replayed: { note: '' } })
  }
})

test('what another server commits is told when it is known to be on disk, and what was there before at once', async () => {
  const prefix = aPrefix()
  const [store, other] = [await open({ prefix }), await open({ prefix })]
  await put(store, 'a/b/old')
  const heard: number[] = []
  other.onCommit(position => heard.push(position))
  await other.position()
  const client = await connect()
  // So that `other` cannot flush.
  await client.query(`BEGIN; SELECT * FROM ${prefix}flushes FOR UPDATE`)
  const position = await put(store, 'a/b/new')
  let told = 0
  const reads = [
    other.get('a/b/new'),
    other.get('a/b/none'),
    other.getMany(['a/b/new']),
    other.scan('a/b'),
    other.query('a/b', {}),
    other.buckets(),
    other.changes(position - 1),
    other.commit({ reads: [{ key: 'a/b/new', version: position }], writes: [] }),
  ].map(read => Promise.resolve(read).then(() => told++))
  expect((await other.get('a/b/old'))?.body.length).toBe(1)
  expect((await store.get('a/b/new'))?.version).toBe(position)
  await untilWaiting(client, 3)
  expect(told).toBe(0)
  expect(heard.filter(each => each >= position)).toEqual([])
  await client.query('ROLLBACK')
  await Promise.all(reads)
  await until(() => heard.at(-1)! >= position)
})

test('what is remembered during commits that come to nothing is not lost', async () => {
  const store = await open({ prefix: aPrefix() })
  await put(store, 'a/b/1')
  for (let i = 0; i < 50; i++) {
    const refused = store.commit({ reads: [{ key: 'a/b/1', version: 1 }], writes: [aPut('a/b/1')] })
    await delay(0)
    await store.remember(`name ${i}`, Buffer.of(i))
    expect((await refused).committed).toBe(false)
    expect(await store.recall(`name ${i}`)).toEqual(Buffer.of(i))
  }
})

describe('a lost connection', () => {
  test.each(['before', 'after'] as const)('%s COMMIT has arrived: what was under way is done once', async when => {
    const line = await aLine()
    const store = await open({ url: urlAt(line.port), prefix: aPrefix() })
    for (let i = 1; i <= 10; i++) {
      line.cutNext({ request: COMMITTING, when })
      const { units } = await add(store, 'a/n/x', i % 2 === 0)
      expect(units).toEqual([i])
    }
    expect(line.cuts).toBe(10)
    expect(await textOf(store, 'a/n/x')).toBe('10')
    expect((await allChanges(store)).length).toBe(10)
  })

  test('that does not come back in time: the commit is reported as not known, and under its id it is done once', async () => {
    const line = await aLine()
    const prefix = aPrefix()
    const store = await open({ url: urlAt(line.port), prefix, waitMsMax: 300 })
    const other = await open({ prefix })
    for (const isNamed of [true, false]) {
      const key = `a/n/${isNamed}`
      const commit = { writes: [], adds: [{ key, by: 1, decimals: 0 }], ...(isNamed && operation('once')) }
      line.cutNext({ request: COMMITTING, when: 'after', forAll: true })
      const error = await store.commit(commit).catch(failure => failure)
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } })
      expect(await textOf(other, key)).toBe('1')
      const refused = await store.commit({ writes: [aPut('a/b/c')] }).catch(failure => failure)
      expect(refused).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'not-done' } })
      await expect(store.get('a/b/c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      line.mend()
      if (isNamed) {
        const repeated = await untilAnswered(() => store.commit(commit))
        expect(repeated).toMatchObject({ units: [1], replayed: { note: '' } })
      }
      expect(await untilAnswered(() => store.get('a/b/c'))).toBe(undefined)
      expect(await textOf(store, key)).toBe('1')
    }
  })

  test('that falls silent is given up, and all that waits on it is asked again', async () => {
    const line = await aLine()
    const prefix = aPrefix()
    const store = await open({ url: urlAt(line.port), prefix, patienceMs: 400 })
    const other = await open({ prefix })
    await put(store, 'a/b/1')
    line.silence()
    const results = await Promise.all([
      store.get('a/b/1'),
      store.scan('a/b', { filter: () => true }),
      put(store, 'a/b/2'),
      // Whatever the silent one had locked, others go on.
      put(other, 'a/b/3'),
    ])
    expect(results[0]?.body.length).toBe(1)
    const heard: number[] = []
    store.onCommit(position => heard.push(position))
    const position = await put(other, 'a/b/4')
    await until(() => heard.at(-1)! >= position)
  })

  test('that falls silent does not keep the store from being closed', async () => {
    const line = await aLine()
    const store = await open({ url: urlAt(line.port), prefix: aPrefix(), patienceMs: 2000, waitMsMax: 2000 })
    await put(store, 'a/b/1')
    await store.get('a/b/1')
    line.silence()
    await store.close()
  })

  test('leaves the clock standing, and it goes on without a jump', async () => {
    const line = await aLine()
    const prefix = aPrefix()
    const store = await open({ url: urlAt(line.port), prefix, waitMsMax: 300 })
    line.cut()
    let stoodAt = 0
    for (let last = -1; stoodAt !== last; await delay(100)) {
      last = stoodAt
      stoodAt = store.nowMs()
    }
    const other = await open({ prefix })
    const position = await put(other, 'a/b/c')
    const [entry] = await other.changes(position - 1)
    expect(entry?.timeMs).toBeGreaterThanOrEqual(stoodAt)
    line.mend()
    await until(() => store.nowMs() > stoodAt)
  })
})

describe('a commit that the database gives up', () => {
  test('for the sake of another is tried again', async () => {
    const prefix = aPrefix()
    const store = await open({ prefix })
    await put(store, 'a/b/1')
    const client = await connect()
    // The one that has written less is given up.
    await client.query(`CREATE TABLE ${prefix}weight (n INT) ENGINE = InnoDB`)
    await client.query(`BEGIN; INSERT INTO ${prefix}weight SELECT seq FROM seq_1_to_1000`)
    await client.query(`SELECT * FROM ${prefix}objects FOR UPDATE`)
    const before = await statusOf(client, 'Innodb_deadlocks')
    const committing = put(store, 'a/b/1')
    // It has the head, and waits for the object; so this waits for it in turn.
    await untilWaiting(client, 1)
    await client.query(`SELECT * FROM ${prefix}head FOR UPDATE`)
    expect(await statusOf(client, 'Innodb_deadlocks')).toBeGreaterThan(before)
    await client.query('ROLLBACK')
    const position = await committing
    expect((await store.get('a/b/1'))?.version).toBe(position)
    expect((await allChanges(store)).length).toBe(2)
  })

  test.each(['head', 'objects'])('because it had to wait too long for its %s is tried again', async table => {
    const prefix = aPrefix()
    const store = await open({ prefix, patienceMs: 1000 })
    await put(store, 'a/b/2')
    const client = await connect()
    await client.query(`BEGIN; SELECT * FROM ${prefix}${table} FOR UPDATE`)
    const waits = await statusOf(client, 'Innodb_row_lock_waits')
    const committing = store.commit({ writes: [aPut('a/b/1'), aPut('a/b/2'), aPut('a/b/3')] })
    await eventually('it waits once more', async () => (await statusOf(client, 'Innodb_row_lock_waits')) >= waits + 3)
    // Of what it had written when it was given up, nothing is left.
    expect(await store.get('a/b/1')).toBe(undefined)
    await client.query('ROLLBACK')
    const { position } = (await committing) as { position: number }
    for (const key of ['a/b/1', 'a/b/2', 'a/b/3']) expect((await store.get(key))?.version).toBe(position)
    expect((await allChanges(store)).length).toBe(2)
  })
})

describe('opening', () => {
  test.each([
    ['nobody listens', () => urlAt(1), 'STORE_UNAVAILABLE', /does not answer/],
    ['there is no such database', () => `${mariadb.url}-not`, 'STORE_UNUSABLE', /no such database/],
    ['the URL is none', () => 'mariadb://[', 'STORE_UNUSABLE', /cannot be understood/],
    ['the URL names no database', () => 'mariadb://127.0.0.1', 'STORE_UNUSABLE', /cannot be understood/],
  ])('says what is wrong if %s', async (_, url, code, text) => {
    const error = await openMariadbStore({ url: url() }).catch(failure => failure)
    expect(error).toMatchObject({ code })
    expect(error.message).toMatch(text)
  })

  test('says what is wrong if the password is, or the user may not create tables', async () => {
    const client = await connect()
    await client.query(`CREATE USER guest@'127.0.0.1' IDENTIFIED BY 'secret'`)
    await client.query(`GRANT SELECT ON freshet.* TO guest@'127.0.0.1'`)
    const as = (password: string) => mariadb.url.replace('root@', `guest:${password}@`)
    for (const [password, text] of [
      ['wrong', /password/],
      ['secret', /may not/],
    ] as const) {
      const error = await openMariadbStore({ url: as(password), prefix: aPrefix() }).catch(failure => failure)
      expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
      expect(error.message).toMatch(text)
      expect(error.message).not.toContain('secret')
    }
  })

  test('says that a read-only server is no place to write to', async () => {
    const own = await startMariadb()
    const prefix = aPrefix()
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
    const prefix = aPrefix()
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
  ])('warns of %s', async (text, settings) => {
    const own = await startMariadb({ settings })
    toClose.push({ close: () => own.stop() })
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

async function open(options: Partial<MariadbStoreOptions>): Promise<Store> {
  const store = await openMariadbStore({ url: mariadb.url, waitMsMax: DEADLINE_MS, ...options })
  toClose.push(store)
  return store
}

async function connect({ port }: RunningMariadb = mariadb): Promise<Connection> {
  const client = await createConnection({
    ...{ host: '127.0.0.1', port, user: 'root', database: 'freshet' },
    multipleStatements: true,
    bigIntAsNumber: true,
  })
  // Its server may be killed.
  client.on('error', () => {})
  toClose.push({ close: () => client.end().catch(() => {}) })
  return client
}

async function aLine(): Promise<CuttingLine> {
  const line = await CuttingLine.open(mariadb.port, isDone)
  toClose.push(line)
  return line
}

/** An OK packet of no rows: not in a transaction, and no more results; no warnings. */
function isDone(bytes: Buffer): boolean {
  return bytes.subarray(-7).equals(Buffer.of(0, 0, 0, 2, 0, 0, 0))
}

function aPrefix(): string {
  return `faults_${++prefixes}_`
}

function urlAt(port: number): string {
  return mariadb.url.replace(`:${mariadb.port}`, `:${port}`)
}

async function statusOf(client: Connection, name: string): Promise<number> {
  const [{ Value }] = await client.query('SHOW GLOBAL STATUS WHERE Variable_name = ?', [name])
  return Number(Value)
}

/** Until a replica acknowledges what is committed. */
async function untilFollowed(primary: RunningMariadb): Promise<void> {
  const client = await connect(primary)
  await eventually('it is followed', async () => (await statusOf(client, 'Rpl_semi_sync_master_clients')) > 0)
  await client.query('SET GLOBAL rpl_semi_sync_master_wait_no_slave = ON')
}

/** Until so many wait for a lock. */
async function untilWaiting(client: Connection, count: number): Promise<void> {
  await eventually('somebody waits', async () => (await statusOf(client, 'Innodb_row_lock_current_waits')) >= count)
}
