/**
 * Reads from real standbys of PostgreSQL, whatever happens to them: no read misses a write that was acknowledged before it
 * began.
 */
import { randomBytes } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openPostgresStore } from '../postgres/open-postgres-store.js'
import { put } from '../under-test/commits.js'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { KnownTruth } from '../under-test/known-truth.js'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { testWithPeer } from '../under-test/test-fleet-store.js'

const LAG_MS = 1500
const toEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})
afterAll(endPostgres)

async function open(url: string, warnings: string[] = []): Promise<Store> {
  const store = await openPostgresStore({ url, onWarning: warning => warnings.push(warning) })
  toEnd.push(() => store.close())
  return store
}

function withReplicas(url: string, replicas: readonly RunningPostgres[]): string {
  return `${url}?replicas=${replicas.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
}

async function ask(url: string, text: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query({ text, rowMode: 'array' })
  await client.end()
  return rows[0]?.[0]
}

async function headOf({ url }: RunningPostgres): Promise<number> {
  // The table itself comes by replication.
  const isThere = await ask(url, "SELECT to_regclass('freshet.head') IS NOT NULL")
  return isThere === true ? Number(await ask(url, 'SELECT position FROM freshet.head')) : 0
}

async function promote(standby: RunningPostgres): Promise<void> {
  await ask(standby.url, 'SELECT pg_promote()')
  await eventually('it is promoted', async () => (await ask(standby.url, 'SELECT pg_is_in_recovery()')) === false)
}

function countOf(store: Store, { port }: RunningPostgres) {
  const count = store.readCounts!().find(({ source }) => source.includes(`:${port}/`))!
  return { reads: count.reads, behind: count.behind!, isUsed: count.isUsed! }
}

async function untilUsed(store: Store, replicas: readonly RunningPostgres[]): Promise<void> {
  const used = eventually('they are used', () => replicas.every(replica => countOf(store, replica).isUsed))
  await used.catch(async cause => {
    const heads = await Promise.allSettled(replicas.map(headOf))
    const seen = { position: await store.position(), heads, counts: store.readCounts!() }
    throw new Error(JSON.stringify(seen), { cause })
  })
}

describe('the whole contract of a store with two standbys, one of which lags', () => {
  let primary: RunningPostgres
  let replicas: readonly RunningPostgres[]
  beforeAll(async () => {
    primary = await startPostgres()
    const settings = [{}, { recovery_min_apply_delay: '200ms' }]
    replicas = await Promise.all(settings.map(each => startPostgres({ settings: each, standbyOf: primary })))
  })
  afterAll(endPostgres)

  testWithPeer(
    () => {
      const schema = `test_${randomBytes(6).toString('hex')}`
      return () => openPostgresStore({ url: withReplicas(primary.url, replicas), schema, onWarning: () => {} })
    },
    { seed: 3 },
  )
})

test('no read is stale when standbys lag, stop, or are promoted and written to', async () => {
  const primary = await startPostgres()
  const writer = await open(primary.url)
  const settings = { recovery_min_apply_delay: `${LAG_MS}ms` }
  const lagging = await startPostgres({ settings, standbyOf: primary })
  const other = await startPostgres({ standbyOf: primary })
  const warnings: string[] = []
  const reader = await open(withReplicas(primary.url, [lagging, other]), warnings)
  const truth = new KnownTruth({ writer, reader, pairs: 8, pauseMs: 20, quiet: 50 })
  toEnd.push(() => truth.end())
  await truth.begin()
  const onFor = async (reads: number) => {
    const upTo = truth.reads + reads
    await eventually(`${reads} more reads`, () => truth.reads >= upTo)
    expect(truth.wrong).toEqual([])
  }
  await untilUsed(reader, [lagging, other])
  const isBehind = async () => (await headOf(lagging)) < (await writer.position()) - 10
  await eventually('one standby lags', isBehind)
  await onFor(500)

  await other.kill()
  await eventually('a warning is given', () => warnings.length > 0)
  const before = countOf(reader, lagging)
  await onFor(1000)
  const after = countOf(reader, lagging)
  // The standby is seconds behind, and still answers reads of objects that have not changed since.
  expect(after.reads).toBeGreaterThan(before.reads + 100)
  await eventually('it still lags', isBehind)
  await other.startAgain()
  await untilUsed(reader, [other])

  await promote(other)
  const stranger = await open(other.url)
  await put(stranger, 'truth/pairs/0-a')
  await put(stranger, 'truth/quiet/1')
  // The server reconnects to the primary, where positions go on from the time of day, beyond those of the promoted standby.
  await ask(primary.url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'freshet'")
  await eventually('it goes on', async () => (await writer.position()) > (await headOf(other)))
  await onFor(500)
  await eventually('it is not used', () => !countOf(reader, other).isUsed)
  await eventually(
    'a warning is given',
    () => warnings.some(warning => /never reported/.test(warning)) || countOf(reader, lagging).isUsed,
  )
  await untilUsed(reader, [lagging])
  await onFor(500)
  await truth.end()
  expect(truth.wrong).toEqual([])
})

test('a standby of a lost primary is not read from, though it has more than the standby that took over', async () => {
  const primary = await startPostgres()
  const toHeir = await CuttingLine.open(primary.port)
  const address = await CuttingLine.open(primary.port)
  toEnd.push(() => Promise.all([toHeir.close(), address.close()]))
  const url = primary.url.replace(`${primary.port}`, `${address.port}`)
  const heir = await startPostgres({ standbyOf: { ...primary, port: toHeir.port } })
  const left = await startPostgres({ standbyOf: primary })
  const reader = await open(withReplicas(url, [left]))
  const before = await put(reader, 'a/b/1')
  await untilUsed(reader, [left])
  await eventually('the heir has it', async () => (await headOf(heir)) >= before)
  toHeir.cut()
  const lost = await put(reader, 'a/b/1')
  // So that the reader knows the position from the log.
  await reader.changes(before)
  await eventually('the other one has it', async () => (await headOf(left)) >= lost)
  await primary.kill()
  await promote(heir)
  address.target = heir.port
  address.cut()
  address.mend()
  const used = countOf(reader, left).reads
  for (let i = 0; i < 50; i++) {
    expect((await reader.get('a/b/1', i % 2 === 0 ? undefined : before))?.version).toBe(before)
  }
  expect((await reader.scan('a/b')).entries.map(({ version }) => version)).toEqual([before])
  expect(await reader.position()).toBeGreaterThan(lost)
  await eventually('looks have been taken', async () => (await reader.get('a/b/1'))?.version === before)
  expect(countOf(reader, left)).toMatchObject({ reads: used, isUsed: false })
})
