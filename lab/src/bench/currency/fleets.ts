/**
 * Three nodes of an engine that replicates by itself: a primary, and two replicas that lag so far that, during writes, nine in
 * ten of their copies are current. And the same primary, far away.
 */
import type { Store } from '@freshet/core/store'
import { openPostgresStore } from '@freshet/engines/postgres'
import { openRedisStore } from '@freshet/engines/redis'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { createRandom } from '../../harness/random.js'
import { type Link, startLink } from '../../network/link.js'
import { BEHIND_SHARE } from './cells-target.js'
import { KEYS, keyOf } from './currency-target.js'
import { openPostgresNode, openRedisNode, type PlainNode } from './plain-nodes.js'

export interface Fleet {
  /** The first is the primary. */
  readonly near: readonly string[]
  readonly far: readonly string[]
  /** The share of the replicas' copies that is current now. */
  currentShare(): Promise<number>
  stop(): Promise<void>
}

/** How far each replica lags. */
const LAGS_MS = [600, 1400]
/** One-way delay to a distant primary. */
const FAR_MS = 5
const START_MS_MAX = 20_000
const WRITE_EVERY_MS = 100
/** Among a thousand objects: nearly a hundred were written in the last second. */
const WRITES = 10
/** Otherwise a standby cancels queries that read rows which the primary has cleaned up. */
const STANDBY = { hot_standby_feedback: 'on', max_standby_streaming_delay: '-1' }
const BODY = Buffer.from(JSON.stringify({ text: 'x'.repeat(489) }))

type Started = { readonly url: string; stop(): Promise<void> }

export async function startPostgresFleet(seed: number): Promise<Fleet> {
  return assemble(seed, {
    start: () => startPostgres(),
    follow: (primary, lagMs) =>
      startPostgres({ settings: { ...STANDBY, recovery_min_apply_delay: `${lagMs}ms` }, standbyOf: primary }),
    openStore: url => openPostgresStore({ url, onWarning: () => {} }),
    openNode: openPostgresNode,
  })
}

export async function startRedisFleet(seed: number): Promise<Fleet> {
  return assemble(seed, {
    start: () => startRedis({ settings: { ...DURABLE, 'repl-diskless-sync-delay': '0' } }),
    async follow(primary, lagMs) {
      const link = await startLink({ target: httpOf(primary.url) })
      const settings = { ...DURABLE, replicaof: `127.0.0.1 ${new URL(link.url).port}` }
      const replica = await startRedis({ settings })
      await untilInStep(replica.url)
      link.change({ delayMs: lagMs })
      const stop = async () => {
        await replica.stop()
        await link.stop()
      }
      return { url: replica.url, stop }
    },
    openStore: url => openRedisStore({ url }),
    openNode: openRedisNode,
  })
}

/** Three independent Redis servers; `cells-target.ts` makes copies on them fall behind. */
export async function startCells(): Promise<Fleet> {
  const servers = await Promise.all([1, 2, 3].map(() => startRedis()))
  const near = servers.map(({ url }) => url)
  const stop = async () => {
    await Promise.all(servers.map(server => server.stop()))
  }
  return { near, far: near, currentShare: async () => 1 - BEHIND_SHARE / near.length, stop }
}

/** Returns when the replica has everything; from then on it lags. */
async function untilInStep(url: string): Promise<void> {
  const node = await openRedisNode(url)
  const deadlineMs = performance.now() + START_MS_MAX
  while ((await node.versions()).includes(0)) {
    if (performance.now() > deadlineMs) throw new Error(`The replica at ${url} did not catch up.`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  await node.close()
}

interface Making<Primary extends Started> {
  start(): Promise<Primary>
  follow(primary: Primary, lagMs: number): Promise<Started>
  openStore(url: string): Promise<Store>
  openNode(url: string): Promise<PlainNode>
}

async function assemble<Primary extends Started>(seed: number, making: Making<Primary>): Promise<Fleet> {
  const ends: (() => Promise<unknown> | unknown)[] = []
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const primary = await making.start()
    ends.push(() => primary.stop())
    const store = await making.openStore(primary.url)
    ends.push(() => store.close())
    await store.commit({ writes: Array.from({ length: KEYS }, (_, i) => aPut(i)) })
    const urls = [primary.url]
    for (const lagMs of LAGS_MS) {
      const replica = await making.follow(primary, lagMs)
      ends.push(() => replica.stop())
      urls.push(replica.url)
    }
    const link = await startLink({ target: httpOf(primary.url), delayMs: FAR_MS })
    ends.push(() => link.stop())
    const nodes = await Promise.all(urls.map(making.openNode))
    ends.push(() => Promise.all(nodes.map(node => node.close())))
    ends.push(writeOn(store, seed))
    return { near: urls, far: [through(link, primary.url), ...urls.slice(1)], currentShare: () => shareOf(nodes), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Writes some objects again and again; returns a function that stops the writer. */
function writeOn(store: Store, seed: number): () => Promise<void> {
  const random = createRandom(seed)
  let isOver = false
  const writing = (async () => {
    while (!isOver) {
      const chosen = new Set(Array.from({ length: WRITES }, () => random.below(KEYS)))
      await store.commit({ writes: Array.from(chosen, aPut) })
      await new Promise(resolve => setTimeout(resolve, WRITE_EVERY_MS))
    }
  })()
  return async () => {
    isOver = true
    await writing
  }
}

function aPut(i: number) {
  return { key: keyOf(i), contentType: 'application/json', body: BODY }
}

async function shareOf([primary, ...replicas]: readonly PlainNode[]): Promise<number> {
  const latest = await primary!.versions()
  const held = await Promise.all(replicas.map(replica => replica.versions()))
  const current = held.flatMap(versions => versions.filter((version, i) => version >= latest[i]!))
  return current.length / (KEYS * replicas.length)
}

/** The link needs only the host and port. */
function httpOf(url: string): string {
  return `http://${new URL(url).host}`
}

function through(link: Link, url: string): string {
  const far = new URL(url)
  far.host = new URL(link.url).host
  return far.href
}
