/** Reads from real replicas of Redis, whatever happens to them: no read misses a write that was acknowledged before it began. */
import type { Store } from '@freshet/core/store'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type Client, connectTo } from '../redis/client.js'
import { openRedisStore } from '../redis/open-redis-store.js'
import { put, textOf } from '../under-test/commits.js'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { KnownTruth } from '../under-test/known-truth.js'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { testWithPeer } from '../under-test/test-fleet-store.js'

const toEnd: (() => unknown)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

interface Fleet {
  readonly primary: RunningRedis
  readonly replicas: readonly RunningRedis[]
  /** Between the primary and each replica. */
  readonly lines: readonly CuttingLine[]
}

async function start(settings: Readonly<Record<string, string>> = DURABLE): Promise<RunningRedis> {
  const redis = await startRedis({ settings: { 'repl-diskless-sync-delay': '0', ...settings } })
  toEnd.push(() => redis.stop())
  return redis
}

async function startFleet(settings: Readonly<Record<string, string>> = DURABLE): Promise<Fleet> {
  const primary = await start(settings)
  const lines = await Promise.all([1, 2].map(() => CuttingLine.open(primary.port)))
  toEnd.push(() => Promise.all(lines.map(line => line.close())))
  const replicas = await Promise.all(lines.map(({ port }) => start({ replicaof: `127.0.0.1 ${port}` })))
  return { primary, replicas, lines }
}

async function open(url: string | readonly string[], warnings: string[] = []): Promise<Store> {
  const store = await openRedisStore({ url, onWarning: warning => warnings.push(warning) })
  toEnd.push(() => store.close())
  return store
}

function withReplicas({ url }: RunningRedis, replicas: readonly RunningRedis[]): string {
  return `${url}?replicas=${replicas.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
}

async function command(redis: RunningRedis, ...args: string[]): Promise<string> {
  let client: Client | undefined
  try {
    client = await connectTo(redis.url)
    return String(await client.sendCommand(args))
  } finally {
    client?.destroy()
  }
}

async function headOf(redis: RunningRedis): Promise<number> {
  return Number.parseInt(await command(redis, 'GET', '{freshet:main}:head'), 10)
}

function countOf(store: Store, { port }: RunningRedis) {
  const count = store.readCounts!().find(({ source }) => source.endsWith(`:${port}`))!
  return { reads: count.reads, behind: count.behind!, isUsed: count.isUsed! }
}

async function untilUsed(store: Store, replicas: readonly RunningRedis[]): Promise<void> {
  await eventually('they are used', () => replicas.every(replica => countOf(store, replica).isUsed))
}

/** A replica that is farther than others answers no readers, but is checked now and then. */
async function untilLeftAlone(store: Store, replica: RunningRedis): Promise<void> {
  await eventually('it is left alone', () => !countOf(store, replica).isUsed)
}

describe('the whole contract of a store with replicas', () => {
  let fleet: Fleet
  let stores = 0
  const ends: (() => unknown)[] = []
  beforeAll(async () => {
    // In memory: if a busy disk hid commits for a second, their keys would be put into the log twice.
    fleet = await startFleet({})
    // They end after all tests, not after each.
    ends.push(...toEnd.splice(0).reverse())
  })
  afterAll(async () => {
    for (const end of ends) await end()
  })
  testWithPeer(
    () => {
      const { primary, replicas } = fleet
      const options = { url: withReplicas(primary, replicas), name: `replicas-${stores++}` }
      return () => openRedisStore(options)
    },
    { seed: 3 },
  )
})

test('no read is stale when replicas lag, stop, hang, are emptied, promoted or given another store', async () => {
  const { primary, replicas, lines } = await startFleet()
  const [first, second] = replicas as [RunningRedis, RunningRedis]
  const warnings: string[] = []
  const writer = await open(primary.url)
  const reader = await open(withReplicas(primary, replicas), warnings)
  const truth = new KnownTruth({ writer, reader, pairs: 8, pauseMs: 10, quiet: 50 })
  toEnd.push(() => truth.end())
  await truth.begin()
  await untilUsed(reader, replicas)
  const onFor = async (reads: number) => {
    const upTo = truth.reads + reads
    await eventually(`${reads} more reads`, () => truth.reads >= upTo)
    expect(truth.wrong).toEqual([])
  }
  await onFor(500)

  for (const line of lines) line.answerDelayMs = 1500
  // Commits that are on their way do not count as a lag.
  const isBehind = async (replica: RunningRedis) => (await headOf(replica)) < (await writer.position()) - 50
  await eventually('both lag', async () => (await Promise.all(replicas.map(isBehind))).every(Boolean))
  const lagging = [countOf(reader, first), countOf(reader, second)]
  await onFor(1000)
  const later = [countOf(reader, first), countOf(reader, second)]
  // The replicas are seconds behind, and still answer reads of objects that have not changed since.
  expect(later[0]!.reads + later[1]!.reads).toBeGreaterThan(lagging[0]!.reads + lagging[1]!.reads + 100)
  for (const line of lines) line.answerDelayMs = 0

  process.kill(first.pid, 'SIGSTOP')
  await onFor(300)
  process.kill(first.pid, 'SIGCONT')
  await untilUsed(reader, replicas)

  lines[0]!.cut()
  await first.kill()
  await onFor(300)
  await first.empty()
  await first.restart()
  // The replica is there again, and empty.
  expect(await command(first, 'DBSIZE')).toBe('0')
  await onFor(300)
  await untilLeftAlone(reader, first)
  lines[0]!.mend()
  await untilUsed(reader, replicas)

  await command(second, 'REPLICAOF', 'NO', 'ONE')
  const stranger = await open(second.url)
  await put(stranger, 'truth/pairs/0-a')
  await put(stranger, 'truth/quiet/1')
  await onFor(500)
  await untilLeftAlone(reader, second)

  const other = await start()
  const others = await open(other.url)
  await put(others, 'truth/quiet/1')
  await command(second, 'REPLICAOF', '127.0.0.1', `${other.port}`)
  await eventually('it follows another', async () =>
    /master_link_status:up/.test(await command(second, 'INFO', 'replication')),
  )
  await onFor(300)
  await untilLeftAlone(reader, second)
  await eventually('a warning is given', () => warnings.some(warning => /another store/.test(warning)))

  await command(second, 'REPLICAOF', '127.0.0.1', `${lines[1]!.port}`)
  await untilUsed(reader, replicas)
  await onFor(300)
  await truth.end()
  expect(truth.wrong).toEqual([])
  expect(truth.commits).toBeGreaterThan(100)
})

test('a replica of a lost primary is not read from, though it has more than the replica that took over', async () => {
  const { primary, replicas, lines } = await startFleet()
  const [heir, left] = replicas as [RunningRedis, RunningRedis]
  const warnings: string[] = []
  const reader = await open([`${primary.url}?replicas=127.0.0.1:${left.port}`, heir.url], warnings)
  const before = await put(reader, 'a/b/1')
  await untilUsed(reader, [left])
  const has = async (redis: RunningRedis, position: number) => (await headOf(redis)) >= position
  await eventually('the heir has it', () => has(heir, before))
  lines[0]!.cut()
  const lost = await put(reader, 'a/b/1')
  await eventually('the other one has it', () => has(left, lost))
  await primary.kill()
  await command(heir, 'REPLICAOF', 'NO', 'ONE')
  const goesOn = async () => (await reader.position()) > lost
  await eventually('it goes on', () => goesOn().catch(() => false))
  for (let i = 0; i < 50; i++) {
    expect((await reader.get('a/b/1'))?.version).toBe(before)
    expect((await reader.get('a/b/1', before))?.version).toBe(before)
  }
  await eventually('a warning is given', () => warnings.some(warning => /another store/.test(warning)))
  expect(await textOf(reader, 'a/b/1')).toBe('1')
})
