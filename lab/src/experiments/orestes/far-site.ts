/**
 * A distant server and caches on both sides of the long connection: Squid near the clients, Varnish near the server, with the
 * configurations of `deploy/`. Beside them, the same connection straight to the server, for clients that use no cache.
 *
 *     clients ── Squid ──── 165 ms there and back ──── Varnish ── server
 *     clients ───────────── 165 ms there and back ─────────────── server
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '@freshet/client'
import { type SlowOrigin, startSlowOrigin } from '../../caches/slow-origin.js'
import { startSquid } from '../../caches/squid.js'
import { startVarnish } from '../../caches/varnish.js'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import type { Random } from '../../harness/random.js'
import { startInOrder } from '../../harness/start-in-order.js'
import { startRemoteLink } from '../../network/remote-link.js'
import { profileIds, profileOf } from './social-network.js'

export const ROUND_TRIP_MS = 165
export const BUCKET = 'orestes/people'

export interface FarSite {
  readonly ids: readonly string[]
  readonly history: RecordedHistory
  readonly origin: SlowOrigin
  /** The URL of the cache near the clients. */
  readonly nearUrl: string
  /** The URL of the server itself, over the long connection. */
  readonly farUrl: string
  stop(): Promise<void>
}

/** Nothing expires during the experiment, and its changes stay in the window. */
const LIFETIME_MS = 1_800_000
/** While the objects are created, copies live so briefly that the creations leave the window soon. */
const FILL = { lifetimeMs: 0, responseMsMax: 1000, slackMs: 500 }
const FILL_AGED_MS = 6000
const PARTS_MAX = 500

export async function startFarSite(objects: number, random: Random): Promise<FarSite> {
  return startInOrder(async stops => {
    const origin = stops.add(await startSlowOrigin({ settings: FILL, lateShare: 0, lateMs: 0 }))
    const varnish = stops.add(await startVarnish({ origin: origin.url, threads: 300 }))
    const line = { delayMs: ROUND_TRIP_MS / 2 }
    const toCache = stops.add(await startRemoteLink({ target: varnish.url, ...line }))
    const toServer = stops.add(await startRemoteLink({ target: origin.url, ...line }))
    const squid = stops.add(await startSquid({ origin: toCache.url }))
    const ids = profileIds(objects)
    const history = new RecordedHistory()
    await fill(origin.url, ids, history, random)
    return { ids, history, origin, nearUrl: squid.url, farUrl: toServer.url, stop: stops.stopAll }
  })
}

/** The objects are old when the experiment begins: no session's sketch contains their creation. */
async function fill(url: string, ids: readonly string[], history: RecordedHistory, random: Random): Promise<void> {
  const db = await connect(url)
  for (let at = 0; at < ids.length; at += PARTS_MAX) {
    const part = ids.slice(at, at + PARTS_MAX)
    const number = -1 - at
    const { position } = await db.commit(
      part.map(id => ({ bucket: BUCKET, id, value: profileOf(id, number, ids, random) })),
    )
    for (const id of part) history.acknowledgePut(id, position, number, performance.now())
  }
  await delay(FILL_AGED_MS)
  await db.bucket(BUCKET).configure({ lifetimeMs: LIFETIME_MS })
  db.close()
}
