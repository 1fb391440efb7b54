/**
 * One of the clients of figure 24. It reads objects one after the other, like a user who follows links, and commits some
 * changes at the end of each transaction. Every read is checked.
 *
 * Writes are committed together, as in the thesis by the database's own protocol, and unconditionally: with 300 objects and
 * 50 clients, nearly every transaction would meet a true conflict, with a cache or without.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type ConnectOptions, connect, versionOf } from '@freshet/client'
import { type ReadChecker, SessionRecord } from '../../coherence-load/read-checker.js'
import type { Random } from '../../harness/random.js'
import { BUCKET, type FarSite } from './far-site.js'
import { type Profile, profileOf } from './social-network.js'

export const STALENESS_MS = 1000
export const READS_PER_TRANSACTION = 50
export const WRITES_PER_TRANSACTION = 5

/** Direct: every read is a round trip to the server. Cached: the normal use of Freshet's clients. */
export type FarWay = 'direct' | 'cached'

export interface FarClientOptions {
  readonly site: FarSite
  readonly way: FarWay
  readonly transactions: number
  readonly checker: ReadChecker
  readonly random: Random
  readonly onRead: () => void
}

/** Total duration without the pauses, and the time spent on each kind of operation. */
export interface ClientTimes {
  readonly totalMs: number
  readonly connectMs: number
  readonly readMs: number
  readonly writeMs: number
}

const OPTIONS: Readonly<Record<FarWay, ConnectOptions>> = {
  direct: { read: 'any', memoryBytesMax: 0 },
  cached: { refresh: 'push', staleness: STALENESS_MS },
}

/**
 * The pause between transactions, from this to three times this. In the thesis the clients are separate machines. Here they
 * share the processors of one machine, and would wait for them if they never paused.
 */
const PAUSE_MS_MIN = 1000

let nextNumber = 1

export async function runFarClient(options: FarClientOptions): Promise<ClientTimes> {
  const { site, way, transactions, random } = options
  const beganMs = performance.now()
  const db = await connect(way === 'direct' ? site.farUrl : site.nearUrl, { ...OPTIONS[way], timeoutMs: 60_000 })
  const times = { connectMs: performance.now() - beganMs, readMs: 0, writeMs: 0 }
  const record = new SessionRecord()
  for (let i = 0; i < transactions; i++) {
    const chosen = Array.from({ length: READS_PER_TRANSACTION }, () => random.pick(site.ids))
    await delay(PAUSE_MS_MIN * (1 + 2 * random.float()))
    const readingMs = performance.now()
    for (const id of chosen) await readOne(options, db, record, id)
    const writingMs = performance.now()
    await writeSome(options, db, record, new Set(chosen.slice(0, WRITES_PER_TRANSACTION)))
    times.readMs += writingMs - readingMs
    times.writeMs += performance.now() - writingMs
  }
  db.close()
  return { ...times, totalMs: times.connectMs + times.readMs + times.writeMs }
}

type Connection = Awaited<ReturnType<typeof connect>>

async function readOne(
  { checker, way, onRead }: FarClientOptions,
  db: Connection,
  record: SessionRecord,
  id: string,
): Promise<void> {
  const ageMs = way === 'direct' ? 0 : STALENESS_MS
  const read = checker.begin(id, record, `a ${way} read`, ageMs, performance.now())
  const profile = await db.bucket<Profile>(BUCKET).get(id)
  const found = profile && { version: versionOf(profile), number: profile.number }
  checker.end(read, found, profile?.served, performance.now())
  onRead()
}

async function writeSome(
  { site, random }: FarClientOptions,
  db: Connection,
  record: SessionRecord,
  ids: ReadonlySet<string>,
): Promise<void> {
  const number = nextNumber++
  const parts = [...ids].map(id => ({ bucket: BUCKET, id, value: profileOf(id, number, site.ids, random) }))
  const { position } = await db.commit(parts)
  for (const id of ids) {
    site.history.acknowledgePut(id, position, number, performance.now())
    record.wrote.set(id, Math.max(position, record.wrote.get(id) ?? 0))
  }
}
