/**
 * The places and the connections between them:
 *
 *     clients ── 2 ms ── Varnish ── 165 ms ── server      with caches
 *     clients ────────── 165 ms ───────────── server      without
 *
 * 165 ms is the latency that the thesis states between its two regions, that is, the round-trip time of a ping. The 2 ms are
 * a round trip as well. Each connection has its own process.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startVarnish } from '../../caches/varnish.js'
import { endChild, forkQuietly, messageOf } from '../../harness/child-messages.js'
import { startInOrder } from '../../harness/start-in-order.js'
import { type RemoteLink, startRemoteLink } from '../../network/remote-link.js'
import type { OriginMessage, OriginSettings } from './origin-process.js'

export const FAR_MS = 165
export const NEAR_MS = 2

const PROCESS = fileURLToPath(new URL('../../../dist/bench/coherence/origin-process.js', import.meta.url))

export interface Stage {
  /** The URL of the server itself, without the distance: for writers that are not measured. */
  readonly originUrl: string
  readonly directUrl: string
  readonly cachedUrl: string
  /** The URL of the cache itself, without the distance. */
  readonly cacheUrl: string
  /** How many objects the server has served so far. */
  originReads(): Promise<number>
  /** Another connection to the cache, as long as the first, for a client whose bytes are counted. */
  startNearLink(): Promise<RemoteLink>
  stop(): Promise<void>
}

export async function startStage({ objects, seed }: { objects: number; seed: number }): Promise<Stage> {
  return startInOrder(async stops => {
    const origin = stops.add(await startOrigin(objects))
    const far = { target: origin.url, delayMs: FAR_MS / 2, seed }
    const toCache = stops.add(await startRemoteLink(far))
    const direct = stops.add(await startRemoteLink(far))
    const varnish = stops.add(await startVarnish({ origin: toCache.url, threads: 300 }))
    const startNearLink = async () =>
      stops.add(await startRemoteLink({ target: varnish.url, delayMs: NEAR_MS / 2, seed: seed + 1 }))
    const near = await startNearLink()
    return {
      originUrl: origin.url,
      directUrl: direct.url,
      cachedUrl: near.url,
      cacheUrl: varnish.url,
      originReads: origin.dataReads,
      startNearLink,
      stop: stops.stopAll,
    }
  })
}

interface Origin {
  readonly url: string
  dataReads(): Promise<number>
  stop(): Promise<void>
}

async function startOrigin(objects: number): Promise<Origin> {
  const path = mkdtempSync(join(tmpdir(), 'freshet-bench-coherence-'))
  const settings: OriginSettings = { path, objects }
  const child = forkQuietly(PROCESS, JSON.stringify(settings))
  const stop = async () => {
    await endChild(child)
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const message = await messageOf<OriginMessage>(child, 'The server')
    if (!('url' in message)) throw new Error('The server process did not report where it listens.')
    return { url: message.url, dataReads: () => askForReads(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function askForReads(child: ChildProcess): Promise<number> {
  child.send('reads')
  const message = await messageOf<OriginMessage>(child, 'The server')
  return 'dataReads' in message ? message.dataReads : 0
}
