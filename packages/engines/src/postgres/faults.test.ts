/** What a database that goes away, hangs, or loses something must not do to commits. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { SqlStage } from '../under-test/sql-stage.js'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { testSqlFaults } from '../under-test/test-sql-faults.js'
import { openPostgresStore, type PostgresStoreOptions } from './open-postgres-store.js'

const DEADLINE_MS = 60_000
let postgres: RunningPostgres
const stage = new SqlStage({
  start: startPostgres,
  end: endPostgres,
  open: ({ space, ...options }) => openPostgresStore({ ...options, schema: space }),
  committing: 'putCommits',
})

beforeAll(async () => {
  postgres = await startPostgres()
})

testSqlFaults(
  stage,
  () => postgres,
  async () => {
    const primary = await startPostgres({ settings: { synchronous_standby_names: '*' } })
    const replica = await startPostgres({ standbyOf: primary, settings: { synchronous_standby_names: '' } })
    const promote = async () => {
      const client = new pg.Client({ connectionString: replica.url })
      await client.connect()
      await client.query('SELECT pg_promote()')
      await client.end()
    }
    return { primary, replica, promote }
  },
)

test('a commit that the database aborts in favour of another is retried', async () => {
  const schema = stage.space()
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
  // It has the head, and waits for the object; now this client waits for the head.
  await untilWaiting(client)
  await client.query('SELECT FROM head FOR UPDATE')
  expect(isCommitted).toBe(false)
  await client.query('COMMIT')
  await client.end()
  const position = await committing
  expect((await store.get('a/b/1'))?.version).toBe(position)
})

describe('opening', () => {
  test('reports a wrong password, and a user who may not create a schema', async () => {
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
    const error = await openPostgresStore({ url: as('secret'), schema: stage.space() }).catch(failure => failure)
    expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(error.message).toMatch(/may not/)
    expect(error.message).not.toContain('secret')
  })

  test('reports that a standby is read-only', async () => {
    const standby = await startPostgres({ standbyOf: postgres })
    const error = await openPostgresStore({ url: standby.url }).catch(failure => failure)
    expect(error).toMatchObject({ code: 'STORE_UNUSABLE' })
    expect(error.message).toMatch(/standby/)
  })

  test('refuses tables of a newer Freshet', async () => {
    const schema = stage.space()
    await (await openPostgresStore({ url: postgres.url, schema })).close()
    const client = new pg.Client({ connectionString: postgres.url })
    await client.connect()
    await client.query(`UPDATE ${schema}.head SET format = 99`)
    await client.end()
    await expect(openPostgresStore({ url: postgres.url, schema })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
    await expect(openPostgresStore({ url: postgres.url, schema: 'x; DROP' })).rejects.toThrow(TypeError)
  })

  test.each(['fsync', 'synchronous_commit', 'full_page_writes'])('warns about %s = off', async setting => {
    const risky = await startPostgres({ settings: { [setting]: 'off' } })
    const warnings: string[] = []
    const store = await open({ url: risky.url, onWarning: text => warnings.push(text) })
    expect(store.supports.durability).toBe('relaxed')
    expect(warnings.length).toBe(1)
    expect(warnings[0]).toContain(`${setting} = off`)
  })
})

function open({ schema, ...options }: Partial<PostgresStoreOptions>): Promise<Store> {
  return stage.open({ url: postgres.url, ...(schema && { space: schema }), ...options })
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

/** Until another connection waits for this one. */
async function untilWaiting(client: pg.Client): Promise<void> {
  const blocked = 'SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))'
  for (const deadlineMs = performance.now() + DEADLINE_MS; performance.now() < deadlineMs; await delay(5)) {
    if ((await client.query(blocked)).rowCount) return
  }
  throw new Error('No connection waits.')
}
