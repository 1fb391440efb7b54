/**
 * Real servers over one engine, behind Varnish as shipped, all of which can stand still: the servers, the processes of the engine, and
 * the connections between them. Readers keep to one server, so that they do not learn from the other what theirs has missed.
 *
 *     readers -- Varnish -- server --+-- line -- engine            lines: not to Cassandra, whose driver finds its own way
 *     readers -- Varnish -- server --+
 *
 *     readers -- Varnish -- a primary and two workers over one folder           embedded
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DURABLE, startRedis } from '@freshet/stores/under-test/redis'
import { startCassandra } from '@freshet/stores/under-test/start-cassandra'
import { startMariadb } from '@freshet/stores/under-test/start-mariadb'
import { startPostgres } from '@freshet/stores/under-test/start-postgres'
import { startServer } from '../bench/http/server-process.js'
import { startVarnish } from '../caches/varnish.js'
import type { Random } from '../harness/random.js'
import { descendants, stallProcess } from './processes.js'
import { openStallingLine, type StallingLine } from './stalling-line.js'

export type StalledEngine = 'embedded' | 'PostgreSQL' | 'MariaDB' | 'Redis' | 'ring' | 'Cassandra'
export type StallKind = 'server' | 'backend' | 'connection' | 'client'

export interface StallFleet {
  /** Through Varnish, one before each server. */
  readonly urls: readonly string[]
  /** Past it. */
  readonly originUrls: readonly string[]
  /** Stops something of this kind at random, and returns what lets it go on; undefined if there is nothing of the kind. */
  stall(kind: StallKind, random: Random): (() => void) | undefined
  stop(): Promise<void>
}

interface Engine {
  readonly url: string
  readonly lines: readonly StallingLine[]
  stop(): Promise<void>
}

const COMMAND = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
/** Of the engines' processes, those that answer servers; by what their commands hold. */
const BACKEND = /^postgres: .*127\.0\.0\.1\(|mariadbd|redis-server|CassandraDaemon/
const SERVER = /cli\/dist\//
const CLIENT = /reading-process\.js/
/** Copies live shorter than a run takes: changes do leave the window. */
const SETTINGS = ['--lifetime-ms', '5s', '--heartbeat-ms', '200ms', '--slot-ms', '500ms']

export async function startStallFleet(name: StalledEngine): Promise<StallFleet> {
  const stops: (() => Promise<unknown>)[] = []
  const stop = async () => {
    for (const each of stops.splice(0).reverse()) await each()
  }
  try {
    const folder = mkdtempSync(join(tmpdir(), 'freshet-stalls-'))
    stops.push(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
    const engine = await startEngine(name)
    stops.push(engine.stop)
    const serve = async (i: number, ...args: readonly string[]) => {
      const data = ['--data', join(folder, `data-${i}`), '--port', '0']
      const server = await startServer({ name: `server ${i}`, args: [COMMAND, 'serve', ...data, ...SETTINGS, ...args] })
      stops.push(() => server.kill())
      return server.url
    }
    const store = ['--store', engine.url, '--workers', '1']
    const originUrls =
      name === 'embedded' ? [await serve(0, '--workers', '2')] : [await serve(1, ...store), await serve(2, ...store)]
    const urls: string[] = []
    for (const origin of originUrls) {
      const varnish = await startVarnish({ origin, threads: 100 })
      stops.push(() => varnish.stop())
      urls.push(varnish.url)
    }
    return { urls, originUrls, stall: (kind, random) => stall(kind, random, engine), stop }
  } catch (error) {
    await stop()
    throw error
  }
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
  if (name === 'Cassandra')
    return startCassandra().then(engine => ({ url: engine.url, lines: [], stop: () => engine.stop() }))
  if (name === 'PostgreSQL') return throughLines([startPostgres], ([url]) => url!)
  if (name === 'MariaDB') return throughLines([startMariadb], ([url]) => url!)
  const redis = () => startRedis({ settings: DURABLE })
  if (name === 'Redis') return throughLines([redis], ([url]) => url!)
  return throughLines([redis, redis, redis], urls => `ring:${urls.join(',')}`)
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
