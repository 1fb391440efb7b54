/**
 * Counts stale reads under load: two processes of an application over one PostgreSQL, writers that replace objects, and readers
 * that check what they get. Nothing is slowed down: the interleavings are those that happen by themselves.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { StopList } from '../../harness/start-in-order.js'
import type { FreshetOptions } from './app-process.js'
import { createCacheAsideTable } from './cache-aside.js'
import { startApp, startFreshet, TTL_SECONDS } from './freshets.js'
import type { Stage } from './peer.js'
import { StaleCounter, type StaleReads } from './stale-counter.js'

/** Freshet's default `staleness`; the cache-aside application has no bound but its TTL. */
const SESSION_MS = 1000
/** A multiple of the number of writers. */
const OBJECTS = 48
const WRITERS = 16
const READERS = 64
const APPS = 2
/** Writers work and pause in turn: what is stale at the end of their work stays so through the pause. */
const WORK_MS = 500

export interface StaleStanding extends StaleReads {
  readonly name: string
  readonly boundMs: number
  readonly writes: number
  readonly objects: number
  /** How many of the objects the application still returns in an old version when the load is over and the bound is past. */
  readonly leftStale: number
}

interface Candidate {
  readonly name: string
  readonly boundMs: number
  start(stage: Stage, stops: StopList): Promise<readonly string[]>
}

const CANDIDATES: readonly Candidate[] = [
  {
    name: `Redis, invalidated by hand, TTL ${TTL_SECONDS} s`,
    boundMs: TTL_SECONDS * 1000,
    async start({ createDatabase, redisUrl }, stops) {
      const postgresUrl = await createDatabase('stale_redis')
      await createCacheAsideTable(postgresUrl)
      return startApps(stops, () => startApp({ kind: 'cache-aside', redisUrl, postgresUrl, ttlSeconds: TTL_SECONDS }))
    },
  },
  freshetCandidate(`read: 'session'`, SESSION_MS, { read: 'session', refresh: 'on-demand' }),
  freshetCandidate(`refresh: 'push'`, SESSION_MS, { read: 'session', refresh: 'push' }),
  freshetCandidate(`read: 'current'`, 0, { read: 'current', refresh: 'on-demand' }),
]

export async function countStaleReads(
  stage: Stage,
  seconds: number,
  onTurn: (done: number, total: number, name: string) => void,
): Promise<readonly StaleStanding[]> {
  const standings: StaleStanding[] = []
  for (const [turn, candidate] of CANDIDATES.entries()) {
    onTurn(turn, CANDIDATES.length, candidate.name)
    const stops = new StopList()
    try {
      standings.push(await measure(candidate, await candidate.start(stage, stops), seconds))
    } finally {
      await stops.stopAll()
    }
  }
  return standings
}

function freshetCandidate(name: string, boundMs: number, options: FreshetOptions): Candidate {
  return {
    name: `Freshet, ${name}`,
    boundMs,
    async start({ createDatabase }, stops) {
      const database = await createDatabase(`stale_${options.read}_${options.refresh.replace('-', '_')}`)
      const server = stops.add(await startFreshet(name, ['--store', database]))
      return startApps(stops, () => startApp({ kind: 'freshet', url: server.url, ...options }))
    },
  }
}

async function startApps(stops: StopList, start: () => ReturnType<typeof startApp>): Promise<readonly string[]> {
  const urls: string[] = []
  for (let app = 0; app < APPS; app++) urls.push(stops.add(await start()).url)
  return urls
}

async function measure({ name, boundMs }: Candidate, apps: readonly string[], seconds: number): Promise<StaleStanding> {
  const counter = new StaleCounter(boundMs)
  const load = new Load(apps, counter)
  await load.writeAll()
  const before = load.writes
  await load.run(seconds)
  // What a session may still show within its bound is not left over.
  await delay(SESSION_MS * 1.5)
  const counted = { ...counter.result(), writes: load.writes - before }
  return { name, boundMs, objects: OBJECTS, ...counted, leftStale: await load.countOld() }
}

class Load {
  readonly #apps: readonly string[]
  readonly #counter: StaleCounter
  #turn = 0
  writes = 0

  constructor(apps: readonly string[], counter: StaleCounter) {
    this.#apps = apps
    this.#counter = counter
  }

  async writeAll(): Promise<void> {
    for (let object = 0; object < OBJECTS; object++) await this.#write(`${object}`)
  }

  async run(seconds: number): Promise<void> {
    const endMs = performance.now() + seconds * 1000
    const readers = Array.from({ length: READERS }, async (_, reader) => {
      for (let i = reader; performance.now() < endMs; i += 7) await this.#read(`${i % OBJECTS}`)
    })
    while (performance.now() < endMs) {
      const restMs = performance.now() + WORK_MS
      await Promise.all(Array.from({ length: WRITERS }, (_, writer) => this.#writeUntil(writer, restMs)))
      await delay(WORK_MS)
    }
    await Promise.all(readers)
  }

  /** Each object has one writer, so that its versions are in order. */
  async #writeUntil(writer: number, endMs: number): Promise<void> {
    for (let i = writer; performance.now() < endMs; i += WRITERS) await this.#write(`${i % OBJECTS}`)
  }

  /** Asks every application for every object. */
  async countOld(): Promise<number> {
    let old = 0
    for (let object = 0; object < OBJECTS; object++) {
      const versions = await Promise.all(this.#apps.map(app => versionAt(app, `${object}`)))
      if (Math.min(...versions) < this.#counter.newest(`${object}`)!) old++
    }
    return old
  }

  async #write(id: string): Promise<void> {
    const n = (this.#counter.newest(id) ?? -1) + 1
    const response = await fetch(`${this.#nextApp()}/products/${id}`, { method: 'PUT', body: JSON.stringify({ n }) })
    if (!response.ok) throw new Error(`A write was answered ${response.status}: ${await response.text()}`)
    this.#counter.acknowledged(id, performance.now())
    this.writes++
  }

  async #read(id: string): Promise<void> {
    const beganMs = performance.now()
    this.#counter.read(id, await versionAt(this.#nextApp(), id), beganMs)
  }

  #nextApp(): string {
    return this.#apps[this.#turn++ % APPS]!
  }
}

async function versionAt(app: string, id: string): Promise<number> {
  const response = await fetch(`${app}/products/${id}`)
  if (!response.ok) throw new Error(`A read was answered ${response.status}: ${await response.text()}`)
  return ((await response.json()) as { n: number }).n
}
