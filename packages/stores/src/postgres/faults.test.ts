/** What a database that goes away, hangs, or loses something may not do to commits. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import pg from 'pg'
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
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { openPostgresStore, type PostgresStoreOptions } from './open-postgres-store.js'

const DEADLINE_MS = 60_000
/** The statement that goes out together with COMMIT. */
const COMMITTING = 'putCommits'
let postgres: RunningPostgres
let schemas = 0
const toClose: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(async () => {
  for (const each of toClose.splice(0).reverse()) await each.close()
})
afterAll(endPostgres)

describe('a killed database', () => {
  test('of all that was acknowledged nothing is lost, nothing is done twice, and no position is given twice', async () => {
    const schema = aSchema()
    const stores = [await open({ schema }), await open({ schema })]
    const heard: number[] = []
    stores[1]!.onCommit(position => heard.push(position))
    const done: Added[] = []
    let isOver = false
    const working = Array.from({ length: 32 }, async (_, worker) => {
      for (let i = 0; !isOver; i++) done.push(await add(stores[i % 2]!, `a/n/${worker}`, i % 3 === 0))
    })
    for (let kills = 0; kills < 3; kills++) {
      const before = done.length
      await until(() => done.length > before + 300)
      await postgres.kill()
      await postgres.startAgain()
    }
    isOver = true
    await Promise.all(working)
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
    const last = await put(stores[0]!, 'a/b/last')
    await until(() => heard.at(-1)! >= last)
  })

  test('positions go on beyond those that it has forgotten', async () => {
    const own = await startPostgres()
    const store = await open({ url: own.url, schema: aSchema() })
    await put(store, 'a/b/1')
    await own.kill()
    const backup = `${own.folder}/backup`
    execFileSync('cp', ['-a', own.data, backup])
    await own.startAgain()
    const forgotten = await put(store, 'a/b/2')
    await own.kill()
    rmSync(own.data, { recursive: true })
    execFileSync('cp', ['-a', backup, own.data])
    await own.startAgain()
    expect(await store.get('a/b/2')).toBe(undefined)
    expect(await put(store, 'a/b/3')).toBeGreaterThan(forgotten)
    const another = await open({ url: own.url, schema: aSchema() })
    expect(await put(another, 'a/b/1')).toBeGreaterThan(forgotten)
  })
})

test('when a standby takes over, what it had acknowledged with the primary is there, and nothing is done twice', async () => {
  const primary = await startPostgres({ settings: { synchronous_standby_names: '*' } })
  const standby = await startPostgres({ standbyOf: primary, settings: { synchronous_standby_names: '' } })
  const line = await CuttingLine.open(primary.port)
  toClose.push(line)
  const options = { url: urlAt(line.port), schema: aSchema() }
  const stores = [await open(options), await open(options)]
  const done: Added[] = []
  let isOver = false
  const working = Array.from({ length: 16 }, async (_, worker) => {
    for (let i = 0; !isOver; i++) done.push(await add(stores[i % 2]!, `a/n/${worker % 4}`, false))
  })
  await until(() => done.length > 300)
  await primary.kill()
  line.cut()
  const client = new pg.Client({ connectionString: standby.url })
  await client.connect()
  await client.query('SELECT pg_promote()')
  await client.end()
  line.target = standby.port
  line.mend()
  const before = done.length
  await until(() => done.length > before + 300)
  isOver = true
  await Promise.all(working)
  const positions = done.map(({ position }) => position)
  // The log begins anew, for it cannot be known that nothing was lost.
  const begin = await stores[0]!.trimmedTo()
  expect(await allChanges(stores[0]!)).toEqual(positions.filter(each => each > begin).sort((a, b) => a - b))
  expect(new Set(positions).size).toBe(positions.length)
  const sums = await Promise.all([0, 1, 2, 3].map(async i => Number(await textOf(stores[1]!, `a/n/${i}`))))
  expect(sums.reduce((sum, each) => sum + each, 0)).toBe(done.length)
})

test('what is remembered during commits that come to nothing is not lost', async () => {
  const store = await open({ schema: aSchema() })
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
    const store = await open({ url: urlAt(line.port), schema: aSchema() })
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
    const schema = aSchema()
    const store = await open({ url: urlAt(line.port), schema, waitMsMax: 300 })
    const other = await open({ schema })
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
    const schema = aSchema()
    const store = await open({ url: urlAt(line.port), schema, patienceMs: 400, waitMsMax: DEADLINE_MS })
    const other = await open({ schema })
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

  test('leaves the clock standing, and it goes on without a jump', async () => {
    const line = await aLine()
    const schema = aSchema()
    const store = await open({ url: urlAt(line.port), schema, waitMsMax: 300 })
    line.cut()
    let stoodAt = 0
    for (let last = -1; stoodAt !== last; await delay(100)) {
      last = stoodAt
      stoodAt = store.nowMs()
    }
    const other = await open({ schema })
    const position = await put(other, 'a/b/c')
    const [entry] = await other.changes(position - 1)
    expect(entry?.timeMs).toBeGreaterThanOrEqual(stoodAt)
    line.mend()
    await until(() => store.nowMs() > stoodAt)
  })
})

test('a commit that the database gives up for the sake of another is tried again', async () => {
  const schema = aSchema()
  const store = await open({ schema })
  await put(store, 'a/b/1')
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(
    `SET search_path = ${schema}; SET deadlock_timeout = '1min'; BEGIN; SELECT FROM objects FOR UPDATE`,
  )
  const committing = put(store, 'a/b/1')
  let isCommitted = false
  committing.then(() => {
    isCommitted = true
  })
  // It has the head, and waits for the object; so this waits for it in turn.
  await untilWaiting(client)
  await client.query('SELECT FROM head FOR UPDATE')
  expect(isCommitted).toBe(false)
  await client.query('COMMIT')
  await client.end()
  const position = await committing
  expect((await store.get('a/b/1'))?.version).toBe(position)
})

describe('opening', () => {
  test.each([
    ['nobody listens', () => urlAt(1), 'STORE_UNAVAILABLE', /does not answer/],
    ['there is no such database', () => `${postgres.url}-not`, 'STORE_UNUSABLE', /no such database/],
    ['the URL is none', () => 'postgres://[', 'STORE_UNUSABLE', /cannot be understood/],
  ])('says what is wrong if %s', async (_, url, code, text) => {
    const error = await openPostgresStore({ url: url() }).catch(failure => failure)
    expect(error).toMatchObject({ code })
    expect(error.message).toMatch(text)
  })

  test('says what is wrong if the password is, or the user may not create a schema', async () => {
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`CREATE ROLE guest LOGIN PASSWORD 'secret'; SET synchronous_commit = on`)
    const { rows } = await client.query('SHOW hba_file')
    const lines = `host all guest 127.0.0.1/32 scram-sha-256\nhost all,replication all 127.0.0.1/32 trust\n`
    await client.query(`COPY (SELECT unnest(string_to_array($$${lines}$$, E'\\n'))) TO '${rows[0].hba_file}'`)
    await client.query('SELECT pg_reload_conf()')
    await client.end()
    const as = (password: string) => `postgres://guest:${password}@127.0.0.1:${postgres.port}/postgres`
    await untilRejected(() => openPostgresStore({ url: as('wrong') }), /password/)
    await expect(openPostgresStore({ url: as('wrong') })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    const error = await openPostgresStore({ url: as('secret'), schema: aSchema() }).catch(failure => failure)
    expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(error.message).toMatch(/may not/)
    expect(error.message).not.toContain('secret')
  })

  test('says that a standby is no place to write to', async () => {
    const standby = await startPostgres({ standbyOf: postgres })
    const error = await openPostgresStore({ url: standby.url }).catch(failure => failure)
    expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(error.message).toMatch(/standby/)
  })

  test('refuses tables of a newer Freshet', async () => {
    const schema = aSchema()
    await (await openPostgresStore({ url: postgres.url, schema })).close()
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`UPDATE ${schema}.head SET format = 99`)
    await client.end()
    await expect(openPostgresStore({ url: postgres.url, schema })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    await expect(openPostgresStore({ url: postgres.url, schema: 'x; DROP' })).rejects.toThrow(TypeError)
  })

  test.each(['fsync', 'synchronous_commit', 'full_page_writes'])('warns of %s = off', async setting => {
    const risky = await startPostgres({ settings: { [setting]: 'off' } })
    const warnings: string[] = []
    const store = await open({ url: risky.url, onWarning: text => warnings.push(text) })
    expect(store.supports.durability).toBe('relaxed')
    expect(warnings.length).toBe(1)
    expect(warnings[0]).toContain(`${setting} = off`)
  })
})

async function open(options: Partial<PostgresStoreOptions>): Promise<Store> {
  const store = await openPostgresStore({ url: postgres.url, waitMsMax: DEADLINE_MS, ...options })
  toClose.push(store)
  return store
}

async function aLine(): Promise<CuttingLine> {
  const line = await CuttingLine.open(postgres.port)
  toClose.push(line)
  return line
}

function aSchema(): string {
  return `faults_${++schemas}`
}

function urlAt(port: number): string {
  return postgres.url.replace(`:${postgres.port}`, `:${port}`)
}

async function untilRejected(action: () => Promise<Store>, text: RegExp): Promise<void> {
  let message = ''
  for (const deadlineMs = performance.now() + DEADLINE_MS; !text.test(message) && performance.now() < deadlineMs; ) {
    message = await action().then(
      store => store.close().then(() => ''),
      error => String(error),
    )
  }
  expect(message).toMatch(text)
}

/** Until somebody waits for this connection. */
async function untilWaiting(client: pg.Client): Promise<void> {
  const blocked = 'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))'
  for (const deadlineMs = performance.now() + DEADLINE_MS; performance.now() < deadlineMs; await delay(5)) {
    if ((await client.query(blocked)).rowCount) return
  }
  throw new Error('Nobody waits.')
}
