/** Reads from real standbys, one of which lags: no read misses a write that was acknowledged before it began. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Store } from '@freshet/core/store'
import { createConnection } from 'mariadb'
import pg from 'pg'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { openMariadbStore } from '../mariadb/open-mariadb-store.js'
import { openPostgresStore } from '../postgres/open-postgres-store.js'
import { aPut, put } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'
import { endMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { endPostgres, startPostgres } from '../under-test/start-postgres.js'

interface Replica {
  readonly port: number
  kill(): Promise<void>
  startAgain(): Promise<void>
  /** The replica goes on receiving, but applies nothing. */
  pause(): Promise<void>
  resume(): Promise<void>
}

interface Fleet {
  readonly url: string
  readonly port: number
  readonly replicas: readonly Replica[]
  /** A separate server, not a replica. */
  readonly other: { readonly url: string; readonly port: number }
}

type OpenOptions = { readonly url: string; readonly onWarning?: (text: string) => void }

const ENGINES: readonly [name: string, start: () => Promise<Fleet>, open: (options: OpenOptions) => Promise<Store>][] =
  [
    ['PostgreSQL', postgresFleet, openPostgresStore],
    ['MariaDB', mariadbFleet, openMariadbStore],
  ]

const READS = 150
const toClose: Store[] = []
afterEach(async () => {
  for (const store of toClose.splice(0)) await store.close()
})
afterAll(async () => {
  await Promise.all([endPostgres(), endMariadb()])
})

describe.each(ENGINES)('standbys of %s', (_, start, openStore) => {
  let fleet: Fleet | undefined
  const warnings: string[] = []

  /** A store that reads from these replicas, and one that writes. */
  async function openBoth(ports: readonly number[]): Promise<{ reader: Store; writer: Store }> {
    fleet ??= await start()
    warnings.splice(0)
    const writer = await openStore({ url: fleet.url })
    const onWarning = (text: string) => warnings.push(text)
    const hosts = ports.map(port => `127.0.0.1:${port}`).join(',')
    const reader = await openStore({ url: `${fleet.url}?replicas=${hosts}`, onWarning })
    toClose.push(reader, writer)
    return { reader, writer }
  }

  test('answer reads, and no answer misses an earlier acknowledged write, least of all one that lags', async () => {
    fleet ??= await start()
    const [lagging, current] = fleet.replicas as [Replica, Replica]
    const { reader, writer } = await openBoth([lagging.port, current.port])
    await put(writer, 'a/b/1')
    await untilUsed(reader, [lagging.port, current.port])
    // These warnings are of replicas that did not have the tables yet.
    warnings.splice(0)
    await lagging.pause()
    let isOver = false
    let acknowledged = await put(writer, 'a/b/1')
    const writing = (async () => {
      while (!isOver) {
        acknowledged = await put(writer, 'a/b/1')
        await delay(Math.random() < 0.2 ? 30 : 0)
      }
    })()
    let shown = 0
    const versionOf: readonly (() => Promise<number | undefined>)[] = [
      async () => (await reader.get('a/b/1'))?.version,
      async () => (await reader.get('a/b/1', acknowledged))?.version,
      async () => (await reader.getMany(['a/b/none', 'a/b/1'])).value[1]?.version,
      async () => (await reader.scan('a/b')).entries[0]?.version,
      async () => (await reader.query('a/b', {})).entries[0]?.version,
      async () => (await reader.scan('a/b', { limit: 2000 })).version,
      async () => (await reader.queryVersion('a/b', {})).version,
    ]
    const before = countsOf(reader)
    const reading = versionOf.map(async read => {
      for (let i = 0; i < READS; i++) {
        const required = acknowledged
        const version = await read()
        expect(version).toBeGreaterThanOrEqual(required)
        // And no read shows a commit that the database does not show to all clients yet.
        expect(await writer.position()).toBeGreaterThanOrEqual(version!)
        shown++
      }
    })
    await Promise.all(reading).finally(() => {
      isOver = true
    })
    await writing
    const {
      [current.port]: byCurrent = 0,
      [lagging.port]: byLagging = 0,
      primary = 0,
    } = difference(countsOf(reader), before)
    expect(shown).toBe(versionOf.length * READS)
    // The same object that is requested twice in one turn is read once.
    expect(byCurrent + byLagging + primary).toBeLessThanOrEqual(shown)
    // A replica that is always a little behind a busy writer answers too, as soon as the writer pauses.
    if (byCurrent === 0) await untilUsed(reader, [current.port])
    expect(difference(countsOf(reader), before)[lagging.port]).toBe(0)
    await lagging.resume()
    await untilUsed(reader, [lagging.port, current.port])
    expect(warnings.filter(text => !/nothing has come back/.test(text))).toEqual([])
  })

  test('see creation and deletion at once', async () => {
    fleet ??= await start()
    const { reader, writer } = await openBoth(fleet.replicas.map(({ port }) => port))
    await put(writer, 'a/b/first')
    await untilUsed(reader, [fleet.replicas[0]!.port])
    for (let i = 0; i < 100; i++) {
      await writer.commit({ writes: [aPut('a/b/gone')] })
      expect(await reader.get('a/b/gone')).toBeDefined()
      await writer.commit({ writes: [{ key: 'a/b/gone', delete: true }] })
      expect(await reader.get('a/b/gone')).toBe(undefined)
    }
  })

  test('that are killed cause no failed reads, and are used again when they are back', async () => {
    fleet ??= await start()
    const [, replica] = fleet.replicas as [Replica, Replica]
    const { reader, writer } = await openBoth([replica.port])
    const version = await put(writer, 'a/b/2')
    await untilUsed(reader, [replica.port])
    warnings.splice(0)
    const reads = Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        await delay(i)
        return (await reader.get('a/b/2'))?.version
      }),
    )
    await replica.kill()
    expect(new Set(await reads)).toEqual(new Set([version]))
    expect((await reader.query('a/b', {})).entries.length).toBeGreaterThan(0)
    await eventually('a warning is given', () => warnings.length > 0)
    expect(warnings[0]).toContain(`127.0.0.1:${replica.port}`)
    expect(warnings.length).toBe(1)
    await replica.startAgain()
    await untilUsed(reader, [replica.port])
  })

  test('that hold another store are not read from', async () => {
    fleet ??= await start()
    const stranger = await openStore({ url: fleet.other.url })
    toClose.push(stranger)
    await put(stranger, 'a/b/3')
    const { reader, writer } = await openBoth([fleet.other.port])
    const version = await put(writer, 'a/b/3')
    await eventually('a warning is given', () => warnings.length > 0)
    expect(warnings[0]).toMatch(/another store/)
    expect((await reader.get('a/b/3'))?.version).toBe(version)
    expect(countsOf(reader)[fleet.other.port]).toBe(0)
  })
})

test('a commit that the primary hides, because it waits for another standby, is not shown by this standby', async () => {
  const { url, replicas } = await postgresFleet()
  const primary = new pg.Client({ connectionString: url })
  await primary.connect()
  const waitFor = (name: string) =>
    primary
      .query(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
      .then(() => primary.query('SELECT pg_reload_conf()'))
  const [replica] = replicas as [Replica, Replica]
  const writer = await openPostgresStore({ url })
  const reader = await openPostgresStore({ url: `${url}?replicas=127.0.0.1:${replica.port}` })
  toClose.push(reader, writer)
  let before = await put(writer, 'a/b/1')
  await untilUsed(reader, [replica.port])
  await waitFor('absent')
  const isWaiting = async () =>
    (await primary.query("SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).rowCount === 1
  let putting = put(writer, 'a/b/1')
  // The setting takes effect after a moment; commits before that are shown.
  for (;;) {
    const position = await Promise.race([putting, eventually('it waits', isWaiting)])
    if (position === undefined) break
    before = position
    putting = put(writer, 'a/b/1')
  }
  const standby = new pg.Client({ connectionString: url.replace(/:\d+/, `:${replica.port}`) })
  await standby.connect()
  const isThere = async () =>
    (await standby.query('SELECT version::float8 FROM freshet.objects')).rows[0].version > before
  await eventually('the standby has it', isThere)
  for (let i = 0; i < 50; i++) expect((await reader.get('a/b/1'))?.version).toBe(before)
  expect((await reader.scan('a/b')).version).toBe(before)
  await waitFor('')
  expect((await reader.get('a/b/1', await putting))?.version).toBe(await putting)
  await Promise.all([primary.end(), standby.end()])
})

test('an invalid list of replicas is refused', async () => {
  for (const open of [openPostgresStore, openMariadbStore]) {
    const scheme = open === openPostgresStore ? 'postgres' : 'mariadb'
    const url = `${scheme}://root@127.0.0.1:1/x?replicas=a b`
    await expect(open({ url })).rejects.toMatchObject({ code: 'STORE_UNUSABLE' })
  }
})

/** Reads until each replica has answered one more read. */
async function untilUsed(reader: Store, ports: readonly number[]): Promise<void> {
  const before = countsOf(reader)
  await eventually(`${ports} answer`, async () => {
    await reader.get('a/b/1')
    const after = countsOf(reader)
    return ports.every(port => after[port]! > before[port]!)
  })
}

function countsOf(store: Store): Record<string, number> {
  const portOf = (source: string) => /:(\d+)/.exec(source)?.[1] ?? source
  return Object.fromEntries(store.readCounts!().map(({ source, reads }) => [portOf(source), reads]))
}

function difference(after: Record<string, number>, before: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([name, count]) => [name, count - before[name]!]))
}

async function postgresFleet(): Promise<Fleet> {
  const primary = await startPostgres()
  const replicas = await Promise.all(
    [1, 2].map(async () => {
      const standby = await startPostgres({ standbyOf: primary })
      const tell = async (text: string) => {
        const client = new pg.Client({ connectionString: standby.url })
        await client.connect()
        const { rows } = await client.query({ text, rowMode: 'array' })
        await client.end()
        return rows[0]![0]
      }
      const pause = async () => {
        await tell('SELECT pg_wal_replay_pause()')
        await eventually('it pauses', async () => (await tell('SELECT pg_get_wal_replay_pause_state()')) === 'paused')
      }
      return { ...standby, pause, resume: () => tell('SELECT pg_wal_replay_resume()') }
    }),
  )
  return { url: primary.url, port: primary.port, replicas, other: await startPostgres() }
}

async function mariadbFleet(): Promise<Fleet> {
  const primary = await startMariadb({ settings: { log_bin: 'binary-log', sync_binlog: '1', server_id: '1' } })
  const replicas = await Promise.all(
    [1, 2].map(async () => {
      const replica = await startMariadb({ replicaOf: primary })
      const tell = async (text: string) => {
        const client = await createConnection({ host: '127.0.0.1', port: replica.port, user: 'root' })
        await client.query(text)
        await client.end()
      }
      return {
        port: replica.port,
        kill: () => replica.kill(),
        startAgain: () => replica.startAgain(),
        pause: () => tell('STOP SLAVE SQL_THREAD'),
        resume: () => tell('START SLAVE SQL_THREAD'),
      }
    }),
  )
  return { url: primary.url, port: primary.port, replicas, other: await startMariadb() }
}
