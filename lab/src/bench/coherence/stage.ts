/**
 * The places and the lines between them:
 *
 *     clients ── 2 ms ── Varnish ── 165 ms ── server      with caches
 *     clients ────────── 165 ms ───────────── server      without
 *
 * 165 ms is what the thesis gives as the latency between its two regions, that is, what a ping takes there and back. So are
 * the 2 ms. Each line is a process of its own.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startVarnish } from '../../caches/varnish.js'
import { type RemoteLink, startRemoteLink } from '../../network/remote-link.js'
import type { OriginMessage, OriginSettings } from './origin-process.js'

export const FAR_MS = 165
export const NEAR_MS = 2

const PROCESS = fileURLToPath(new URL('../../../dist/bench/coherence/origin-process.js', import.meta.url))

export interface Stage {
  /** The server itself, no distance away: for writers who are not measured. */
  readonly originUrl: string
  readonly directUrl: string
  readonly cachedUrl: string
  /** The cache itself, no distance away. */
  readonly cacheUrl: string
  /** How many objects the server has been asked for so far. */
  originReads(): Promise<number>
  /** Another line to the cache, as long as the first, for somebody whose bytes are to be counted. */
  startNearLink(): Promise<RemoteLink>
  stop(): Promise<void>
}

export async function startStage({ objects, seed }: { objects: number; seed: number }): Promise<Stage> {
  const ends: (() => Promise<void>)[] = []
  const ending = <Part extends { stop(): Promise<void> }>(part: Part): Part => {
    ends.push(() => part.stop())
    return part
  }
  const stop = async () => {
    for (const end of ends.splice(0).reverse()) await end()
  }
  try {
    const origin = ending(await startOrigin(objects))
    const far = { target: origin.url, delayMs: FAR_MS / 2, seed }
    const toCache = ending(await startRemoteLink(far))
    const direct = ending(await startRemoteLink(far))
    const varnish = ending(await startVarnish({ origin: toCache.url, threads: 300 }))
    const startNearLink = async () =>
      ending(await startRemoteLink({ target: varnish.url, delayMs: NEAR_MS / 2, seed: seed + 1 }))
    const near = await startNearLink()
    return {
      originUrl: origin.url,
      directUrl: direct.url,
      cachedUrl: near.url,
      cacheUrl: varnish.url,
      originReads: origin.dataReads,
      startNearLink,
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Origin {
  readonly url: string
  dataReads(): Promise<number>
  stop(): Promise<void>
}

async function startOrigin(objects: number): Promise<Origin> {
  const path = mkdtempSync(join(tmpdir(), 'freshet-bench-coherence-'))
  const settings: OriginSettings = { path, objects }
  const child = fork(PROCESS, [JSON.stringify(settings)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const stop = async () => {
    await kill(child)
    rmSync(path, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    const message = await messageOf(child)
    if (!('url' in message)) throw new Error('The server did not say where it listens.')
    return { url: message.url, dataReads: () => askForReads(child), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function askForReads(child: ChildProcess): Promise<number> {
  child.send('reads')
  const message = await messageOf(child)
  return 'dataReads' in message ? message.dataReads : 0
}

async function messageOf(child: ChildProcess): Promise<OriginMessage> {
  const controller = new AbortController()
  const { signal } = controller
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`The server ended with exit code ${code}.`)
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal }), ended])) as [OriginMessage]
    return message
  } finally {
    ended.catch(() => {})
    controller.abort()
  }
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
