/** When a database may have lost what it had acknowledged, the log is another one: whoever has seen that starts over. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import type { Store } from '@freshet/core/store'
import { createConnection } from 'mariadb'
import { afterAll, afterEach, expect, test } from 'vitest'
import { allChanges, put } from '../under-test/commits.js'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { openMariadbStore } from './open-mariadb-store.js'

const WAIT_MS_MAX = 60_000
const REPLICATED = { log_bin: 'binary-log', sync_binlog: '1', server_id: '1' }
const toEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})
afterAll(endMariadb)

test('a replica that takes over without the last commits: the log is another, for running servers and for new ones', async () => {
  const primary = await startMariadb({ settings: REPLICATED })
  const replica = await startMariadb({ replicaOf: primary })
  const address = await aLine(primary)
  const url = urlAt(primary, address.port)
  const [store, other] = [await open(url), await open(url)]
  const { log } = store
  const heard: number[] = []
  other.onCommit(position => heard.push(position))
  const before = await put(store, 'a/b/1')
  await eventually('the replica has it', async () => (await headOf(replica)) >= before)
  await tell(replica, 'STOP SLAVE')
  const lost = await put(store, 'a/b/1')
  expect((await store.get('a/b/1'))?.version).toBe(lost)
  await primary.kill()
  address.cut()
  address.target = replica.port
  await tell(replica, 'RESET SLAVE ALL; SET GLOBAL read_only = OFF')
  address.mend()
  for (const each of [store, other]) {
    expect((await each.get('a/b/1'))?.version).toBe(before)
    await expect(each.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
    expect(each.log).not.toBe(log)
    expect(await each.trimmedTo()).toBeGreaterThan(lost)
    expect(await each.position()).toBeGreaterThanOrEqual(await each.trimmedTo())
  }
  const after = await put(store, 'a/b/1')
  expect(after).toBeGreaterThan(lost)
  await eventually('the other hears of it', () => heard.at(-1)! >= after)
  const late = await open(replica.url)
  expect(new Set([store.log, other.log, late.log]).size).toBe(1)
  expect(await allChanges(late)).toEqual([after])
})

test('a database that was put back from an older copy: the log is another, whichever server comes back first', async () => {
  const mariadb = await startMariadb()
  const line = await aLine(mariadb)
  const [store, ignorant] = [await open(mariadb.url), await open(urlAt(mariadb, line.port))]
  const { log } = store
  const before = await put(store, 'a/b/1')
  expect(await ignorant.position()).toBe(before)
  await mariadb.kill()
  const copy = `${mariadb.folder}/copy`
  execFileSync('cp', ['-a', mariadb.data, copy])
  line.cut()
  await mariadb.startAgain()
  const lost = await put(store, 'a/b/1')
  expect(store.log).toBe(log)
  await mariadb.kill()
  rmSync(mariadb.data, { recursive: true })
  execFileSync('cp', ['-a', copy, mariadb.data])
  line.mend()
  await mariadb.startAgain()
  expect((await ignorant.get('a/b/1'))?.version).toBe(before)
  expect(await put(ignorant, 'a/b/2')).toBeGreaterThan(lost)
  expect((await store.get('a/b/1'))?.version).toBe(before)
  for (const each of [store, ignorant]) {
    await expect(each.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
    expect(each.log).not.toBe(log)
  }
  expect(store.log).toBe(ignorant.log)
})

test('innodb_flush_log_at_trx_commit = 2 and a restart: the log is another, also for a server that is new', async () => {
  const mariadb = await startMariadb({ settings: { innodb_flush_log_at_trx_commit: '2' } })
  const [store, other] = [await open(mariadb.url), await open(mariadb.url)]
  const { log } = store
  const before = await put(store, 'a/b/1')
  await other.close()
  await mariadb.kill()
  await mariadb.startAgain()
  const late = await open(mariadb.url)
  expect(late.log).not.toBe(log)
  expect(await put(store, 'a/b/2')).toBeGreaterThan(before)
  await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  // Once: whoever comes later finds it done.
  expect(store.log).toBe(late.log)
})

test('a durable database that is killed, and lost connections: the log stays the same, and goes on', async () => {
  const mariadb = await startMariadb()
  const line = await aLine(mariadb)
  const [store, other] = [await open(urlAt(mariadb, line.port)), await open(mariadb.url)]
  const { log } = store
  const positions: number[] = []
  const commit = async () => {
    for (const each of [store, other]) positions.push(await put(each, 'a/b/1'))
  }
  await commit()
  for (let kills = 0; kills < 2; kills++) {
    await mariadb.kill()
    await mariadb.startAgain()
    await commit()
  }
  for (let cuts = 0; cuts < 3; cuts++) {
    line.cut()
    line.mend()
    await commit()
  }
  positions.push(await put(await open(mariadb.url), 'a/b/1'))
  for (const each of [store, other]) {
    expect(await allChanges(each)).toEqual(positions)
    expect(each.log).toBe(log)
  }
})

async function open(url: string): Promise<Store> {
  const store = await openMariadbStore({ url, waitMsMax: WAIT_MS_MAX, onWarning: () => {} })
  toEnd.push(() => store.close())
  return store
}

async function aLine({ port }: RunningMariadb): Promise<CuttingLine> {
  const line = await CuttingLine.open(port)
  toEnd.push(() => line.close())
  return line
}

async function headOf(mariadb: RunningMariadb): Promise<number> {
  // The table itself comes by replication.
  const rows = await tell(mariadb, 'SELECT position FROM freshet.freshet_head').catch(() => [])
  return Number((rows as readonly { position: bigint }[])[0]?.position ?? 0)
}

async function tell({ port }: RunningMariadb, text: string): Promise<unknown> {
  const connection = await createConnection({ host: '127.0.0.1', port, user: 'root', multipleStatements: true })
  try {
    return await connection.query(text)
  } finally {
    await connection.end()
  }
}

function urlAt(mariadb: RunningMariadb, port: number): string {
  return mariadb.url.replace(`:${mariadb.port}`, `:${port}`)
}
