/**
 * The cost of following the changes at ten writes a second: how many bytes of the sketch a client receives, by each way of
 * keeping it fresh, and how long after a write its subscribers know of it (push).
 *
 * The writer runs beside the server. A write counts as visible to a client once the position of its session includes it: no
 * read that begins later can miss it. The time on the way from the server is not counted, nor the duration of the read that
 * follows; that is reported separately.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type Database, type Fetch } from '@freshet/client'
import type { Random } from '../../harness/random.js'
import type { LinkCounts } from '../../network/link.js'
import type { RemoteLink } from '../../network/remote-link.js'
import { BUCKET, idOf, type SocialObject, socialObject } from './social-network.js'
import { FAR_MS, NEAR_MS, type Stage } from './stage.js'

export const WRITES_PER_SECOND = 10
const SUBSCRIBERS = 20
const REFRESHES = ['push', 'poll', 'on-demand'] as const
type Refresh = (typeof REFRESHES)[number]
const READS_PER_SECOND = 4
const LOOK_MS = 1
const VISIBLE_MS_MAX = 10_000
/** The one-way delay from the server to a client, through the cache. */
const WAY_MS = (FAR_MS + NEAR_MS) / 2

export interface FollowingOptions {
  readonly stage: Stage
  readonly objects: number
  readonly seconds: number
  readonly random: Random
  readonly onProgress: (share: number) => void
}

export interface Following {
  /** Beyond the time on the way, for each write and subscriber. */
  readonly visibleMs: readonly number[]
  /** The same, up to the moment when a read that begins then has returned the new value. */
  readonly readableMs: readonly number[]
  readonly bytesPerMinute: Readonly<Record<Refresh, SketchBytes>>
}

export interface SketchBytes {
  /** The bodies of /coherence, its streams and segments. */
  readonly bodies: number
  /** Everything sent over the connection, headers included, reads of data excluded. */
  readonly onTheLine: number
}

interface Follower {
  readonly refresh: Refresh
  readonly db: Database
  readonly link: RemoteLink
  bodyBytes: number
}

export async function measureFollowing(options: FollowingOptions): Promise<Following> {
  const { stage, seconds, onProgress } = options
  const followers = await Promise.all(REFRESHES.map(refresh => startFollower(stage, refresh)))
  const subscribers = await Promise.all(
    Array.from({ length: SUBSCRIBERS }, () => connect(stage.cachedUrl, { refresh: 'push', memoryBytesMax: 0 })),
  )
  const writer = await connect(stage.originUrl)
  try {
    // By then the streams are open, and the cost of connecting is not counted.
    await writeForAWhile({ ...options, seconds: 1, onProgress: () => {} }, writer, subscribers)
    const before = await Promise.all(followers.map(follower => countsOf(follower)))
    const beganMs = performance.now()
    let isOver = false
    const reading = Promise.all(followers.map(follower => readNowAndThen(follower, () => isOver)))
    const times = await writeForAWhile({ ...options, onProgress: share => onProgress(share) }, writer, subscribers)
    isOver = true
    await reading
    const minutes = (performance.now() - beganMs) / 60_000
    const after = await Promise.all(followers.map(follower => countsOf(follower)))
    const bytes = REFRESHES.map((refresh, i) => [refresh, perMinute(before[i]!, after[i]!, minutes)])
    return { ...times, bytesPerMinute: Object.fromEntries(bytes) as Following['bytesPerMinute'] }
  } finally {
    for (const { db } of [...followers, ...subscribers.map(db => ({ db })), { db: writer }]) db.close()
    if (seconds > 0) onProgress(1)
  }
}

/** Reads one object, which stays in memory: after the first read only the sketch travels, until the object is written. */
async function startFollower(stage: Stage, refresh: Refresh): Promise<Follower> {
  const link = await stage.startNearLink()
  const follower = { refresh, link, bodyBytes: 0 }
  const counting: Fetch = async (url, init) => {
    const response = await fetch(url, init)
    return new URL(url).pathname.startsWith('/coherence')
      ? counted(response, bytes => {
          follower.bodyBytes += bytes
        })
      : response
  }
  const db = await connect(link.url, { refresh, fetch: counting })
  return Object.assign(follower, { db })
}

function counted(response: Response, count: (bytes: number) => void): Response {
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      count(chunk.length)
      controller.enqueue(chunk)
    },
  })
  return new Response(response.body?.pipeThrough(counter) ?? null, response)
}

/** Reads an object that is never written. */
async function readNowAndThen({ db }: Follower, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await db.bucket<SocialObject>(BUCKET).get(idOf(0))
    await delay(1000 / READS_PER_SECOND)
  }
}

async function countsOf({ link, bodyBytes }: Follower): Promise<LinkCounts & { readonly bodyBytes: number }> {
  return { ...(await link.counts()), bodyBytes }
}

type Counts = Awaited<ReturnType<typeof countsOf>>

function perMinute(before: Counts, after: Counts, minutes: number): SketchBytes {
  return {
    bodies: Math.round((after.bodyBytes - before.bodyBytes) / minutes),
    onTheLine: Math.round((after.downBytes - before.downBytes) / minutes),
  }
}

async function writeForAWhile(
  { objects, seconds, random, onProgress }: FollowingOptions,
  writer: Database,
  subscribers: readonly Database[],
): Promise<Pick<Following, 'visibleMs' | 'readableMs'>> {
  const watch = new Watch(subscribers)
  const writes = seconds * WRITES_PER_SECOND
  const beganMs = performance.now()
  const watching = watch.run()
  for (let i = 0; i < writes; i++) {
    await delay(Math.max(0, beganMs + (i * 1000) / WRITES_PER_SECOND - performance.now()))
    const index = 1 + random.below(objects - 1)
    const sentMs = performance.now()
    const { position } = await writer.bucket<SocialObject>(BUCKET).put(idOf(index), socialObject(index, i))
    watch.add({ position, index, sentMs })
    onProgress(i / writes)
  }
  watch.end()
  await watching
  return watch
}

interface Sent {
  readonly position: number
  readonly index: number
  readonly sentMs: number
}

/** Polls all subscribers: which of them knows of which write? */
class Watch {
  readonly visibleMs: number[] = []
  readonly readableMs: number[] = []
  readonly #subscribers: readonly Database[]
  /** By subscriber: the writes that it does not know of yet, in the order of the log. */
  readonly #unknown: Sent[][]
  readonly #reads: Promise<void>[] = []
  #isOver = false

  constructor(subscribers: readonly Database[]) {
    this.#subscribers = subscribers
    this.#unknown = subscribers.map(() => [])
  }

  add(sent: Sent): void {
    for (const unknown of this.#unknown) unknown.push(sent)
  }

  end(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    while (!this.#isOver || this.#unknown.some(({ length }) => length > 0)) {
      for (const [i, db] of this.#subscribers.entries()) this.#look(db, this.#unknown[i]!, i)
      await delay(LOOK_MS)
    }
    await Promise.all(this.#reads)
  }

  #look(db: Database, unknown: Sent[], subscriber: number): void {
    const { position } = db.session
    const nowMs = performance.now()
    for (let sent = unknown[0]; sent !== undefined; sent = unknown[0]) {
      const tookMs = nowMs - sent.sentMs
      if (tookMs > VISIBLE_MS_MAX)
        throw new Error(`Position ${sent.position} was not pushed within ${VISIBLE_MS_MAX} ms.`)
      if (sent.position > position) return
      unknown.shift()
      this.visibleMs.push(tookMs - WAY_MS)
      // Only one subscriber reads it, so that each write is fetched once.
      if (sent.position % this.#subscribers.length === subscriber) this.#reads.push(this.#read(db, sent))
    }
  }

  async #read(db: Database, { index, sentMs }: Sent): Promise<void> {
    await db.bucket<SocialObject>(BUCKET).get(idOf(index))
    this.readableMs.push(performance.now() - sentMs - WAY_MS)
  }
}
