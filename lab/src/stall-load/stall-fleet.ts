/**
 * Real servers over one engine, behind Varnish as shipped, all of which can stall: the servers, the processes of the engine, and
 * the connections between them. Readers stay with one server, so that they do not learn from the other what their own has missed.
 *
 *     readers -- Varnish -- server --+-- line -- engine            lines: not to Cassandra, whose driver finds its own way,
 *     readers -- Varnish -- server --+                             nor to SQLite, which is a file
 *
 *     readers -- Varnish -- a primary and two workers over one folder           embedded
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { startCassandra } from '@freshet/engines/under-test/start-cassandra'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { startServer } from '../bench/http/server-process.js'
import { startVarnish } from '../caches/varnish.js'
import type { EngineName } from '../engines/engine-name.js'
import { createSqliteFile } from '../engines/sqlite.js'
import type { Random } from '../harness/random.js'
import { startInOrder } from '../harness/start-in-order.js'
import { descendants, stallProcess } from './processes.js'
import { openStallingLine, type StallingLine } from './stalling-line.js'

export type StalledEngine = 'embedded' | 'ring' | EngineName
export type StallKind = 'server' | 'backend' | 'connection' | 'client'

export interface StallFleet {
  /** Through Varnish; each server has its own. */
  readonly urls: readonly string[]
  /** The URLs of the servers themselves. */
  readonly originUrls: readonly string[]
  /** Stalls something of this kind at random, and returns a function that resumes it; undefined if nothing of the kind exists. */
  stall(kind: StallKind, random: Random): (() => void) | undefined
  stop(): Promise<void>
}

interface Engine {
  readonly url: string
  readonly lines: readonly StallingLine[]
  stop(): Promise<void>
}

const COMMAND = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
/** The engines' processes that answer servers, by their commands. */
const BACKEND = /^postgres: .*127\.0\.0\.1\(|mariadbd|redis-server|CassandraDaemon/
const SERVER = /cli\/dist\//
const CLIENT = /reading-process\.js/
/** Copies expire during a run, so that changes leave the window. */
const SETTINGS = ['--lifetime-ms', '5s', '--heartbeat-ms', '200ms', '--slot-ms', '500ms']

export async function startStallFleet(name: StalledEngine): Promise<StallFleet> {
  return startInOrder(async stops => {
    const folder = mkdtempSync(join(tmpdir(), 'freshet-stalls-'))
    stops.add({ stop: async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) })
    const engine = stops.add(await startEngine(name))
    const serve = async (i: number, ...args: readonly string[]) => {
      const data = ['--data', join(folder, `data-${i}`), '--port', '0']
      const server = await startServer({ name: `server ${i}`, args: [COMMAND, 'serve', ...data, ...SETTINGS, ...args] })
      stops.add({ stop: () => server.kill() })
      return server.url
    }
    const store = ['--store', engine.url, '--workers', '1']
    const originUrls =
      name === 'embedded' ? [await serve(0, '--workers', '2')] : [await serve(1, ...store), await serve(2, ...store)]
    const urls: string[] = []
    for (const origin of originUrls) {
      urls.push(stops.add(await startVarnish({ origin, threads: 100 })).url)
    }
    return { urls, originUrls, stall: (kind, random) => stall(kind, random, engine), stop: stops.stopAll }
  })
}

function stall(kind: StallKind, random: Random, { lines }: Engine): (() => void) | undefined {
  if (kind === 'connection') {
    const busy = lines.filter(({ open }) => open > 0)
    if (busy.length === 0) return undefined
    const line = random.pick(busy)
    return line.stall(random.below(line.open))
  }
  const pattern = { server: SERVER, backend: BACKEND, client: CLIENT }[kind]
  const found = descendants().filter(({ command }) => pattern.test(command))
  return found.length === 0 ? undefined : stallProcess(random.pick(found).pid)
}

function startEngine(name: StalledEngine): Promise<Engine> {
  if (name === 'embedded') return Promise.resolve({ url: '', lines: [], stop: async () => {} })
  if (name === 'Cassandra') return withoutLines(startCassandra())
  if (name === 'SQLite') return withoutLines(createSqliteFile())
  if (name === 'PostgreSQL') return throughLines([startPostgres], ([url]) => url!)
  if (name === 'MariaDB') return throughLines([startMariadb], ([url]) => url!)
  const redis = () => startRedis({ settings: DURABLE })
  if (name === 'Redis') return throughLines([redis], ([url]) => url!)
  return throughLines([redis, redis, redis], urls => `ring:${urls.join(',')}`)
}

async function withoutLines(starting: Promise<Pick<Engine, 'url' | 'stop'>>): Promise<Engine> {
  const engine = await starting
  return { url: engine.url, lines: [], stop: () => engine.stop() }
}

async function throughLines(
  starts: readonly (() => Promise<{ readonly url: string; readonly port: number; stop(): Promise<void> }>)[],
  urlOf: (urls: readonly string[]) => string,
): Promise<Engine> {
  const engines = await Promise.all(starts.map(start => start()))
  const lines = await Promise.all(engines.map(({ port }) => openStallingLine(port)))
  return {
    url: urlOf(engines.map(({ url, port }, i) => url.replace(`:${port}`, `:${lines[i]!.port}`))),
    lines,
    stop: async () => {
      for (const each of [...lines, ...engines]) await each.stop()
    },
  }
}
