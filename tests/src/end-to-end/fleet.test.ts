/**
 * Two servers over one engine, behind HAProxy as shipped. Any request may go to any server, while the servers are stopped and
 * restarted one after the other, and one is killed. Clients notice nothing.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database } from '@freshet/client'
import { freePort } from '@freshet/engines/under-test/free-port'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { startCassandra } from '@freshet/engines/under-test/start-cassandra'
import { startMariadb } from '@freshet/engines/under-test/start-mariadb'
import { startPostgres } from '@freshet/engines/under-test/start-postgres'
import { startHaproxy } from '@freshet/lab/dist/caches/haproxy.js'
import { afterEach, describe, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { endFreshetProcesses, type FreshetProcess, startFreshet } from './freshet-process.js'

interface Engine {
  readonly url: string
  stop(): Promise<void>
}

type StartedEngine = readonly [name: string, service: string, start: () => Promise<Engine>]
const SHORT: readonly StartedEngine[] = [
  ['PostgreSQL', 'postgresql', () => startPostgres()],
  ['a ring of three Redis servers', 'redis', startRing],
]
/** Each engine costs half a minute of a processor. */
const LONG: readonly StartedEngine[] = [
  ['MariaDB', 'mariadb', () => startMariadb()],
  ['Redis', 'redis', () => startRedis({ settings: DURABLE })],
  ['Cassandra', 'cassandra', () => startCassandra()],
]
const ENGINES = process.env.FRESHET_FLEETS === 'all' ? [...SHORT, ...LONG] : SHORT
const WRITERS = 4
const READERS = 3
/** Draining takes seconds: without a pause, the load would keep every processor busy meanwhile. */
const PAUSE_MS = 30
/** HAProxy checks every second, and acts on the second answer. */
const DRAIN = ['--drain-ms', '3s', '--stop-ms-max', '5s']

const toStop: { stop(): Promise<unknown> }[] = []

afterEach(async () => {
  await endFreshetProcesses()
  for (const each of toStop.splice(0).reverse()) await each.stop()
})

async function startRing(): Promise<Engine> {
  const nodes = await Promise.all([1, 2, 3].map(() => startRedis({ settings: DURABLE })))
  const stop = async () => {
    for (const node of nodes) await node.stop()
  }
  return { url: `ring:${nodes.map(({ url }) => url).join(',')}`, stop }
}

function startServer(engine: Engine, port: number): Promise<FreshetProcess> {
  return startFreshet(['serve', '--store', engine.url, '--workers', '1', '--port', `${port}`, ...DRAIN])
}

for (const [name, service, startEngine] of ENGINES) {
  const isLeftOut = [service, 'haproxy'].some(each => reasonToSkip(each) !== undefined)
  describe.skipIf(isLeftOut)(`over ${name}`, () => {
    test('servers are upgraded one after the other, and one is killed, without an error', async () => {
      const engine = await startEngine()
      toStop.push(engine)
      const ports = [await freePort(), await freePort()] as const
      const servers = await Promise.all(ports.map(port => startServer(engine, port)))
      const proxy = await startHaproxy(ports)
      toStop.push(proxy)
      const load = await startLoad(proxy.url)
      for (const [i, port] of ports.entries()) {
        await load.goOn(100)
        expect(await servers[i]!.stop()).toBe(0)
        await load.goOn(50)
        servers[i] = await startServer(engine, port)
      }
      await load.goOn(100)
      await servers[0]!.kill()
      await load.goOn(100)
      const { added, value, errors, backwards, readers } = await load.end()
      expect(errors).toEqual([])
      expect(backwards).toBe(0)
      expect(value).toBe(added)
      expect(readers).toBeGreaterThan(100)
    }, 300_000)
  })
}

/** Sessions that add to a counter, and others that read it: it never goes back, and includes every acknowledged addition. */
async function startLoad(url: string) {
  const options = { timeoutMs: 30_000, retriesMax: 20 }
  const sessions: Database[] = []
  const open = async (staleness: number) => {
    const db = await connect(url, { ...options, staleness })
    sessions.push(db)
    return db.counter('shop/views')
  }
  const first = await open(0)
  await first.configure({})
  const state = { added: 0, acknowledged: 0, reads: 0, backwards: 0, isOver: false }
  const errors: unknown[] = []
  const write = async () => {
    const counter = await open(1000)
    while (!state.isOver) {
      state.added++
      const { value } = await counter.add('a')
      state.acknowledged = Math.max(state.acknowledged, value)
      await delay(PAUSE_MS)
    }
  }
  const read = async () => {
    const counter = await open(0)
    let last = 0
    while (!state.isOver) {
      const least = Math.max(last, state.acknowledged)
      last = await counter.get('a')
      state.reads++
      if (last < least) state.backwards++
      await delay(PAUSE_MS)
    }
  }
  const noted = (work: () => Promise<void>) => work().catch(error => void errors.push(error))
  const work = [
    ...Array.from({ length: WRITERS }, () => noted(write)),
    ...Array.from({ length: READERS }, () => noted(read)),
  ]
  return {
    /** Waits for this many more additions. */
    async goOn(additions: number): Promise<void> {
      const target = state.acknowledged + additions
      const deadlineMs = performance.now() + 60_000
      while (state.acknowledged < target && errors.length === 0) {
        if (performance.now() > deadlineMs) throw new Error(`The load makes no progress: ${JSON.stringify(state)}`)
        await delay(20)
      }
    },
    async end() {
      state.isOver = true
      await Promise.all(work)
      const value = await first.get('a')
      for (const db of sessions) db.close()
      return { ...state, value, errors, readers: state.reads }
    },
  }
}
