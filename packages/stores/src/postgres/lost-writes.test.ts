/** When a database may have lost what it had acknowledged, the log is another one: whoever has seen that starts over. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import type { Store } from '@freshet/core/store'
import pg from 'pg'
import { afterAll, afterEach, expect, test } from 'vitest'
import { allChanges, put } from '../under-test/commits.js'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { openPostgresStore } from './open-postgres-store.js'

const WAIT_MS_MAX = 60_000
const toEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})
afterAll(endPostgres)

test('a standby that takes over without the last commits: the log is another, for running servers and for new ones', async () => {
  const { primary, standby, address, toStandby } = await startPair()
  const url = urlAt(primary, address.port)
  const [store, other] = [await open(url), await open(url)]
  const { log } = store
  const heard: number[] = []
  other.onCommit(position => heard.push(position))
  const before = await put(store, 'a/b/1')
  await eventually('the standby has it', async () => (await headOf(standby)) >= before)
  toStandby.cut()
  const lost = await put(store, 'a/b/1')
  expect((await store.get('a/b/1'))?.version).toBe(lost)
  await takeOver({ primary, standby, address })
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
  const late = await open(standby.url)
  expect(new Set([store.log, other.log, late.log]).size).toBe(1)
  expect(await allChanges(late)).toEqual([after])
})

test('also if no server was running while the standby took over', async () => {
  const { primary, standby, toStandby } = await startPair()
  const first = await openPostgresStore({ url: primary.url })
  const before = await put(first, 'a/b/1')
  await eventually('the standby has it', async () => (await headOf(standby)) >= before)
  toStandby.cut()
  const lost = await put(first, 'a/b/1')
  await first.close()
  await primary.kill()
  await promote(standby)
  const store = await open(standby.url)
  expect(store.log).not.toBe(first.log)
  expect(await store.trimmedTo()).toBeGreaterThan(lost)
})

test('a database that was put back from an older copy: the log is another, whichever server comes back first', async () => {
  const postgres = await startPostgres()
  const line = await CuttingLine.open(postgres.port)
  toEnd.push(() => line.close())
  const [store, ignorant] = [await open(postgres.url), await open(urlAt(postgres, line.port))]
  const { log } = store
  const before = await put(store, 'a/b/1')
  expect(await ignorant.position()).toBe(before)
  await postgres.kill()
  const copy = `${postgres.folder}/copy`
  execFileSync('cp', ['-a', postgres.data, copy])
  line.cut()
  await postgres.startAgain()
  const lost = await put(store, 'a/b/1')
  expect(store.log).toBe(log)
  await postgres.kill()
  rmSync(postgres.data, { recursive: true })
  execFileSync('cp', ['-a', copy, postgres.data])
  line.mend()
  await postgres.startAgain()
  expect((await ignorant.get('a/b/1'))?.version).toBe(before)
  expect(await put(ignorant, 'a/b/2')).toBeGreaterThan(lost)
  expect((await store.get('a/b/1'))?.version).toBe(before)
  for (const each of [store, ignorant]) {
    await expect(each.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
    expect(each.log).not.toBe(log)
  }
  expect(store.log).toBe(ignorant.log)
})

test('a crash with synchronous_commit = off: the log is another; after a clean restart it is the same', async () => {
  const postgres = await startPostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } })
  const store = await open(postgres.url)
  const { log } = store
  await put(store, 'a/b/1')
  await restart(postgres)
  const before = await put(store, 'a/b/1')
  await allChanges(store)
  expect(store.log).toBe(log)
  await postgres.kill()
  await postgres.startAgain()
  expect(await put(store, 'a/b/2')).toBeGreaterThan(before)
  await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  expect(store.log).not.toBe(log)
})

test('one process of a database with synchronous_commit = off crashes: the log is another, also for a server that is new', async () => {
  const postgres = await startPostgres({ settings: { synchronous_commit: 'off', wal_writer_delay: '10s' } })
  const first = await openPostgresStore({ url: postgres.url, onWarning: () => {} })
  await put(first, 'a/b/1')
  await first.close()
  const [client, witness] = [await connect(postgres), await connect(postgres)]
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  // The database has noticed when it ends all others.
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

test('a durable database that is killed or restarted, and lost connections: the log stays the same, and goes on', async () => {
  const postgres = await startPostgres()
  const line = await CuttingLine.open(postgres.port)
  toEnd.push(() => line.close())
  const [store, other] = [await open(urlAt(postgres, line.port)), await open(postgres.url)]
  const { log } = store
  const positions: number[] = []
  const commit = async () => {
    for (const each of [store, other]) positions.push(await put(each, 'a/b/1'))
  }
  await commit()
  await postgres.kill()
  await postgres.startAgain()
  await commit()
  await restart(postgres)
  await commit()
  for (let cuts = 0; cuts < 3; cuts++) {
    line.cut()
    line.mend()
    await commit()
  }
  positions.push(await put(await open(postgres.url), 'a/b/1'))
  for (const each of [store, other]) {
    expect(await allChanges(each)).toEqual(positions)
    expect(each.log).toBe(log)
  }
})

async function open(url: string): Promise<Store> {
  const store = await openPostgresStore({ url, waitMsMax: WAIT_MS_MAX, onWarning: () => {} })
  toEnd.push(() => store.close())
  return store
}

/** The standby follows by one line, servers come by another. */
async function startPair() {
  const primary = await startPostgres()
  const [toStandby, address] = [await CuttingLine.open(primary.port), await CuttingLine.open(primary.port)]
  toEnd.push(() => Promise.all([toStandby.close(), address.close()]))
  const standby = await startPostgres({ standbyOf: { ...primary, port: toStandby.port } })
  return { primary, standby, address, toStandby }
}

async function takeOver(pair: { primary: RunningPostgres; standby: RunningPostgres; address: CuttingLine }) {
  await pair.primary.kill()
  pair.address.cut()
  await promote(pair.standby)
  pair.address.target = pair.standby.port
  pair.address.mend()
}

async function promote(standby: RunningPostgres): Promise<void> {
  const client = await connect(standby)
  await client.query('SELECT pg_promote()')
}

async function headOf(postgres: RunningPostgres): Promise<number> {
  const client = await connect(postgres)
  // The table itself comes by replication.
  const { rows } = await client.query('SELECT position FROM freshet.head').catch(() => ({ rows: [] }))
  await client.end()
  return Number(rows[0]?.position ?? 0)
}

/** As an administrator would. */
async function restart(postgres: RunningPostgres): Promise<void> {
  await postgres.shutDown()
  await postgres.startAgain()
}

async function connect({ url }: RunningPostgres): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  toEnd.push(() => client.end().catch(() => {}))
  await client.connect()
  return client
}

function urlAt(postgres: RunningPostgres, port: number): string {
  return postgres.url.replace(`:${postgres.port}`, `:${port}`)
}
