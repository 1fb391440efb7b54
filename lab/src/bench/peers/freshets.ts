/** Freshet, over each store that a peer is compared with; and the application over PostgreSQL, with Freshet and with Redis. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ServerProcess, startServer } from '../http/server-process.js'
import type { AppSettings } from './app-process.js'
import { createCacheAsideTable } from './cache-aside.js'
import { fill, getOf, jsonRequest, type Peer, type PeerEntry, productOf, type Stage } from './peer.js'

export const FRESHET: string = fileURLToPath(import.meta.resolve('@freshet/cli/dist/freshet.js'))
const APP = fileURLToPath(new URL('./app-process.js', import.meta.url))
const POWER_CUT = 'a power cut (PostgreSQL, its defaults)'
export const TTL_SECONDS = 60

export const freshets: readonly PeerEntry[] = [
  entry('freshet', 'a power cut (LMDB, flushed)', ({ folder }) => ['--data', join(folder, 'freshet')]),
  entry('freshet-relaxed', 'a crash of the process (LMDB, --durability relaxed)', ({ folder }) => [
    ...['--data', join(folder, 'freshet-relaxed')],
    ...['--durability', 'relaxed'],
  ]),
  entry('freshet-postgres', POWER_CUT, async ({ createDatabase }) => ['--store', await createDatabase('freshet')]),
]

export const applications: readonly PeerEntry[] = [
  {
    name: 'app-freshet',
    async start({ stops, createDatabase }) {
      const server = stops.add(await startFreshet('app-freshet', ['--store', await createDatabase('app_freshet')]))
      const app = stops.add(await startApp({ kind: 'freshet', url: server.url, read: 'session', refresh: 'on-demand' }))
      return asPeer('app-freshet', POWER_CUT, `${app.url}/products`)
    },
  },
  {
    name: 'app-redis',
    async start({ stops, createDatabase, redisUrl }) {
      const postgresUrl = await createDatabase('app_redis')
      await createCacheAsideTable(postgresUrl)
      const app = stops.add(await startApp({ kind: 'cache-aside', redisUrl, postgresUrl, ttlSeconds: TTL_SECONDS }))
      return asPeer('app-redis', POWER_CUT, `${app.url}/products`)
    },
  },
]

export function startFreshet(name: string, args: readonly string[]): Promise<ServerProcess> {
  return startServer({
    name,
    args: [FRESHET, 'serve', '--port', '0', '--workers', '1', '--log-level', 'info', ...args],
  })
}

export function startApp(settings: AppSettings): Promise<ServerProcess> {
  return startServer({ name: `app (${settings.kind})`, args: [APP, JSON.stringify(settings)] })
}

function entry(
  name: string,
  durability: string,
  argsOf: (stage: Stage) => readonly string[] | Promise<readonly string[]>,
): PeerEntry {
  return {
    name,
    async start(stage) {
      const { url } = stage.stops.add(await startFreshet(name, await argsOf(stage)))
      return asPeer(name, durability, `${url}/db/shop/products`)
    },
  }
}

async function asPeer(name: string, durability: string, folder: string): Promise<Peer> {
  const { origin: url, pathname } = new URL(folder)
  const write = (i: number) => jsonRequest('PUT', `${pathname}/${i}`, productOf(i))
  await fill(url, write)
  return { name, url, durability, read: i => getOf(`${pathname}/${i}`), write }
}
