/**
 * A distant server with a Varnish near its clients, and beside it an equally distant PostgreSQL, each over its own connection:
 *
 *     clients ── Varnish ──── 165 ms there and back ──── server
 *     clients ─────────────── 165 ms there and back ──── PostgreSQL
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@freshet/client'
import { type RunningPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import { startSlowOrigin } from '../../caches/slow-origin.js'
import { startVarnish } from '../../caches/varnish.js'
import { startInOrder } from '../../harness/start-in-order.js'
import { startRemoteLink } from '../../network/remote-link.js'
import { idsOf } from './contended-work.js'
import { POSTGRES_SETTINGS } from './postgres-contender.js'

export const ROUND_TRIP_MS = 165

export interface Site {
  readonly nearUrl: string
  readonly postgres: RunningPostgres
  /** The port of the long connection to PostgreSQL. */
  readonly farPostgresPort: number
  stop(): Promise<void>
}

export interface Filling {
  readonly bucket: string
  readonly objects: number
}

/** Nothing expires during the experiment, and its changes stay in the window. */
const LIFETIME_MS = 1_800_000
/** While the objects are created, copies live so briefly that the creations leave the window soon. */
const FILL = { lifetimeMs: 0, responseMsMax: 1000, slackMs: 500 }
const FILL_AGED_MS = 6000
const PARTS_MAX = 500
const READS_AT_ONCE = 250
const OUTDATED_EVERY = 10

export async function startSite(fillings: readonly Filling[]): Promise<Site> {
  return startInOrder(async stops => {
    const origin = stops.add(await startSlowOrigin({ settings: FILL, lateShare: 0, lateMs: 0 }))
    const line = { delayMs: ROUND_TRIP_MS / 2 }
    const toServer = stops.add(await startRemoteLink({ target: origin.url, ...line }))
    const varnish = stops.add(await startVarnish({ origin: toServer.url, threads: 100 }))
    const postgres = stops.add(await startPostgres({ settings: POSTGRES_SETTINGS }))
    const toPostgres = stops.add(await startRemoteLink({ target: `http://127.0.0.1:${postgres.port}`, ...line }))
    await fill(origin.url, fillings)
    await warm(varnish.url, fillings)
    await outdate(origin.url, fillings)
    return {
      nearUrl: varnish.url,
      postgres,
      farPostgresPort: Number(new URL(toPostgres.url).port),
      stop: stops.stopAll,
    }
  })
}

/** The objects are old when the experiment begins: no session's sketch contains their creation. */
async function fill(url: string, fillings: readonly Filling[]): Promise<void> {
  const db = await connect(url)
  for (const { bucket, objects } of fillings) {
    const ids = idsOf(objects)
    for (let at = 0; at < ids.length; at += PARTS_MAX) {
      await db.commit(ids.slice(at, at + PARTS_MAX).map(id => ({ bucket, id, value: { count: 0 } })))
    }
  }
  await delay(FILL_AGED_MS)
  for (const { bucket } of fillings) await db.bucket(bucket).configure({ lifetimeMs: LIFETIME_MS })
  db.close()
}

/** Fills the cache, as earlier readers would have done. */
async function warm(url: string, fillings: readonly Filling[]): Promise<void> {
  const db = await connect(url, { memoryBytesMax: 0, timeoutMs: 60_000 })
  for (const { bucket, objects } of fillings) {
    const ids = idsOf(objects)
    for (let at = 0; at < ids.length; at += READS_AT_ONCE) {
      await db.bucket(bucket).getMany(ids.slice(at, at + READS_AT_ONCE))
    }
  }
  db.close()
}

/** Changes some of them past this cache, as other clients would have done. */
async function outdate(url: string, fillings: readonly Filling[]): Promise<void> {
  const db = await connect(url)
  for (const { bucket, objects } of fillings) {
    const ids = idsOf(objects).filter((_, i) => i % OUTDATED_EVERY === 0)
    await db.commit(ids.map(id => ({ bucket, id, value: { count: 0 } })))
  }
  db.close()
}
