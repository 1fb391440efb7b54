/**
 * Freshet beside what a team could use instead: PocketBase, parse-server, json-server, D1 in miniflare, and Redis that is
 * invalidated by hand before PostgreSQL. Every server does the same work over HTTP: it returns one object of 500 bytes, or replaces
 * it. Each runs in its own process with its authors' settings, and only one is under load at a time. Then the bench counts stale
 * reads of the two applications, and measures how soon clients of Zero and Freshet show what another program writes.
 * docs/decisions/0037-peers-in-the-benchmark.md has the reasons.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isRedisInstalled, startRedis } from '@freshet/engines/under-test/redis'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import pg from 'pg'
import { requirePostgres } from '../../engines/postgres.js'
import type { Bench, BenchContext, BenchResult } from '../../harness/bench.js'
import { type Contender, measureSideBySide } from '../../harness/side-by-side.js'
import { StopList } from '../../harness/start-in-order.js'
import { inTemporaryFolder } from '../../harness/temporary-folder.js'
import { UsageError } from '../../harness/usage-error.js'
import { requestsPerSecond, requireWrk, scriptOf } from '../http/wrk.js'
import { d1 } from './d1.js'
import { applications, freshets } from './freshets.js'
import { VERSIONS } from './installed-peers.js'
import { jsonServer } from './json-server.js'
import { parseServer } from './parse-server.js'
import { OBJECTS, type Peer, PeerMissing, type Stage } from './peer.js'
import { pocketbases } from './pocketbase.js'
import { MEASURES, type PeerMeasure, reportOf } from './report.js'
import { countStaleReads } from './stale-reads.js'
import { measureVisible } from './visible-standings.js'

const ENTRIES = [...freshets, ...pocketbases, jsonServer, d1, parseServer, ...applications]
const FULL = { rounds: 9, seconds: 1, staleSeconds: 20, visibleRounds: 5 }
const QUICK = { rounds: 1, seconds: 1, staleSeconds: 2, visibleRounds: 1 }

export const peers: Bench = {
  async run(context) {
    requireWrk()
    requirePostgres()
    if (!isRedisInstalled()) throw new UsageError('This bench needs redis-server: sudo apt-get install redis-server')
    return inTemporaryFolder('bench-peers', folder => measure(context, folder))
  },
}

async function measure({ quick, progress }: BenchContext, folder: string): Promise<BenchResult> {
  const { rounds, seconds, staleSeconds, visibleRounds } = quick ? QUICK : FULL
  const stops = new StopList()
  try {
    const stage = await setStage(folder, stops)
    const { started, skipped } = await startAll(stage, progress)
    const contenders = await Promise.all(started.map(peer => contenderOf(peer, folder, seconds)))
    const standings = await measureSideBySide({ contenders, measures: MEASURES, rounds, onTurn: progress })
    const staleReads = await countStaleReads(stage, staleSeconds, progress)
    const visible = await measureVisible({ folder, rounds: visibleRounds, onTurn: progress })
    if (visible.missing !== undefined) skipped.zero = visible.missing
    const durability = Object.fromEntries(started.map(peer => [peer.name, peer.durability]))
    return reportOf({ standings, durability, staleReads, visible: visible.standings, skipped, versions: VERSIONS })
  } finally {
    await stops.stopAll()
  }
}

/** One PostgreSQL for all that use one, each with a database of its own, and a Redis that keeps everything in memory. */
async function setStage(folder: string, stops: StopList): Promise<Stage> {
  const postgres = stops.add(await startPostgres())
  const redis = stops.add(await startRedis())
  return {
    folder,
    stops,
    redisUrl: redis.url,
    async createDatabase(name) {
      const client = new pg.Client({ connectionString: postgres.url })
      await client.connect()
      await client.query(`CREATE DATABASE ${name}`)
      await client.end()
      return new URL(`/${name}`, postgres.url).href
    },
  }
}

async function startAll(stage: Stage, progress: BenchContext['progress']) {
  const started: Peer[] = []
  const skipped: Record<string, string> = {}
  for (const [turn, { name, start }] of ENTRIES.entries()) {
    progress(turn, ENTRIES.length, `starting ${name}`)
    try {
      started.push(await start(stage))
    } catch (error) {
      if (!(error instanceof PeerMissing)) throw error
      skipped[name] = error.message
    }
  }
  return { started, skipped }
}

async function contenderOf(
  { name, url, read, write }: Peer,
  folder: string,
  seconds: number,
): Promise<Contender<PeerMeasure>> {
  const indexes = Array.from({ length: OBJECTS }, (_, i) => i)
  const scripts = { read: join(folder, `${name}-read.lua`), write: join(folder, `${name}-write.lua`) }
  await writeFile(scripts.read, scriptOf(indexes.map(read)))
  await writeFile(scripts.write, scriptOf(indexes.map(write)))
  const nsPer = async (script: string) => 1e9 / (await requestsPerSecond({ url, script, seconds }))
  return {
    name,
    round: async () => ({ read: await nsPer(scripts.read), write: await nsPer(scripts.write) }),
  }
}
