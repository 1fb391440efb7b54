/** Addresses with several hosts: a store continues with whichever host is the primary, without a proxy. */
import type { Store } from '@freshet/core/store'
import { createConnection } from 'mariadb'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openMariadbStore } from '../mariadb/open-mariadb-store.js'
import { openPostgresStore } from '../postgres/open-postgres-store.js'
import { exposedTables } from '../postgres/tables/expose-tables.js'
import { allChanges, put } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'
import { endMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { endPostgres, startPostgres } from '../under-test/start-postgres.js'
import { addressesIn } from './hosts.js'

interface Pair {
  /** The address of both, the standby first. */
  readonly url: string
  readonly primary: { readonly url: string; readonly port: number; kill(): Promise<void> }
  readonly standby: { readonly url: string; readonly port: number }
  /** The standby's position. */
  reached(): Promise<number>
  promote(): Promise<unknown>
}

type Open = (options: { readonly url: string; readonly waitMsMax?: number }) => Promise<Store>

const WAIT_MS_MAX = 60_000
const toClose: Store[] = []
afterEach(async () => {
  for (const store of toClose.splice(0)) await store.close()
})
afterAll(async () => {
  await Promise.all([endPostgres(), endMariadb()])
})

test.each([
  ['postgres://user@a:5432/db', ['postgres://user@a:5432/db']],
  [
    'postgres://u:p,w@a:1,b/db?replicas=c,d',
    ['postgres://u:p,w@a:1/db?replicas=c,d', 'postgres://u:p,w@b/db?replicas=c,d'],
  ],
  ['mariadb://[::1]:1,b:2/x@y,z', ['mariadb://[::1]:1/x@y,z', 'mariadb://b:2/x@y,z']],
  ['nonsense,', ['nonsense,']],
])('%s is one address for each host', (text, addresses) => {
  expect(addressesIn(text)).toEqual(addresses)
})

const ENGINES: readonly [name: string, start: () => Promise<Pair>, open: Open][] = [
  ['PostgreSQL', startPostgresPair, openPostgresStore],
  ['MariaDB', startMariadbPair, openMariadbStore],
]

describe.each(ENGINES)('%s', (_, start, openStore) => {
  test('the primary is found anywhere in the address; when it is killed, the store uses the promoted standby', async () => {
    const { url, primary, standby, reached, promote } = await start()
    const store = await openStore({ url, waitMsMax: WAIT_MS_MAX })
    toClose.push(store)
    const { log } = store
    const before = await put(store, 'a/b/1')
    await eventually('the standby has it', async () => (await reached()) >= before)
    await primary.kill()
    const putting = put(store, 'a/b/2')
    await promote()
    const after = await putting
    expect(after).toBeGreaterThan(before)
    expect((await store.getMany(['a/b/1', 'a/b/2'])).value.map(value => value?.version)).toEqual([before, after])
    await expect(store.changes(before)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
    expect(store.log).not.toBe(log)
    const late = await openStore({ url: standby.url })
    toClose.push(late)
    expect(await allChanges(late)).toEqual([after])
  })

  test('if no host can be used, the error says what is wrong with each', async () => {
    const error = await openStore({ url: `${schemeOf(openStore)}://root@127.0.0.1:1,127.0.0.1:2/x` }).catch(
      error => error,
    )
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(error.message).toMatch(/127\.0\.0\.1:1,127\.0\.0\.1:2\/x.*:1.*:2/)
  })
})

test('a store leaves a MariaDB that becomes a replica, for the server that has taken its place', async () => {
  const { url, primary, reached, promote } = await startMariadbPair()
  const store = await openMariadbStore({ url, waitMsMax: WAIT_MS_MAX })
  toClose.push(store)
  const before = await put(store, 'a/b/1')
  await tellMariadb(primary.port, 'SET GLOBAL read_only = ON')
  await eventually('the replica has it', async () => (await reached()) >= before)
  await promote()
  const other = await openMariadbStore({ url })
  toClose.push(other)
  await eventually('it is left', async () => (await store.position()) === (await other.position()))
  const after = await put(other, 'a/b/1')
  expect((await store.get('a/b/1'))?.version).toBe(after)
})

test('tables that are buckets are listed by the primary', async () => {
  const { url } = await startPostgresPair()
  expect(await exposedTables({ url })).toEqual([])
})

function schemeOf(open: Open): string {
  return open === openPostgresStore ? 'postgres' : 'mariadb'
}

function both(primary: { readonly url: string; readonly port: number }, standby: { readonly port: number }): string {
  return primary.url.replace(`:${primary.port}`, `:${standby.port},127.0.0.1:${primary.port}`)
}

async function startPostgresPair(): Promise<Pair> {
  const primary = await startPostgres()
  const standby = await startPostgres({ standbyOf: primary })
  const tell = async (text: string) => {
    const client = new pg.Client({ connectionString: standby.url })
    await client.connect()
    try {
      const { rows } = await client.query({ text, rowMode: 'array' })
      return rows[0]?.[0]
    } finally {
      await client.end()
    }
  }
  return {
    url: both(primary, standby),
    primary,
    standby,
    // The table may not exist yet.
    reached: () => tell('SELECT position FROM freshet.head').then(Number, () => 0),
    promote: () => tell('SELECT pg_promote()'),
  }
}

async function startMariadbPair(): Promise<Pair> {
  const primary = await startMariadb({ settings: { log_bin: 'binary-log', sync_binlog: '1', server_id: '1' } })
  const standby = await startMariadb({ replicaOf: primary })
  return {
    url: both(primary, standby),
    primary,
    standby,
    reached: () => tellMariadb(standby.port, 'SELECT position FROM freshet.freshet_head').catch(() => 0),
    promote: () => standby.promote(),
  }
}

async function tellMariadb(port: number, text: string): Promise<number> {
  const client = await createConnection({ host: '127.0.0.1', port, user: 'root', rowsAsArray: true })
  const rows = await client.query(text)
  await client.end()
  return Number(rows[0]?.[0])
}
