/**
 * One reader with several requests under way at once. It reads objects and lists in every mode, writes now and then through the
 * cache, and hands its session to a new connection. Every read is checked.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { type Stored, versionOf } from '@freshet/client'
import type { Random } from '../harness/random.js'
import { HandedSession, type Incarnation } from './handed-session.js'
import { type Found, type OpenRead, type ReadChecker, SessionRecord } from './read-checker.js'
import { readModes, STALENESS_MS } from './read-modes.js'
import type { RecordedHistory } from './recorded-history.js'
import { BUCKET, GROUPS, type Item, itemOf, OBJECT_IDS } from './stored-items.js'

const MODES = readModes(6)

export interface LoadSessionOptions {
  readonly url: string
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  readonly refresh: 'on-demand' | 'poll' | 'push'
  readonly history: Pick<RecordedHistory, 'acknowledgePut'>
  readonly checker: Pick<ReadChecker, 'begin' | 'end' | 'reads'>
  readonly random: Random
  /** The average pause of each lane between two requests; default 0. */
  readonly pauseMs?: number
  /** Called with the requested URLs, without the host. */
  readonly onUrl: (url: string) => void
}

type Now = Incarnation<SessionRecord>

export class LoadSession extends HandedSession<SessionRecord> {
  /** Requests for objects and lists. */
  requests = 0
  readonly #options: LoadSessionOptions

  constructor(options: LoadSessionOptions) {
    const { url, fetch, refresh, onUrl } = options
    super({
      url,
      connection: {
        ...{ fetch, refresh, staleness: STALENESS_MS },
        // Otherwise reads would be answered from memory, and not by the caches.
        memoryBytesMax: 0,
        onRead: ({ path, at }) => onUrl(at === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}at=${at}`),
      },
      recordAfter: before => new SessionRecord(before),
      unexpected: new Set(['CACHE_UNTRUSTWORTHY']),
    })
    this.#options = options
  }

  protected override async lane(isOver: () => boolean): Promise<void> {
    const { random, pauseMs = 0 } = this.#options
    while (!isOver()) {
      const chance = random.float()
      if (chance < 0.005) await this.handOn()
      else if (chance < 0.015) await this.attempt(now => this.#write(now))
      else if (chance < 0.025) await this.attempt(now => this.#list(now))
      else if (chance < 0.065) await this.attempt(now => this.#getGroup(now))
      else await this.attempt(now => this.#get(now))
      if (pauseMs > 0) await delay(random.float() * 2 * pauseMs)
    }
  }

  async #write({ db, record }: Now): Promise<void> {
    const { random, history } = this.#options
    const id = random.pick(OBJECT_IDS)
    const item = itemOf(random)
    const { position } = await db.bucket<Item>(BUCKET).put(id, item)
    history.acknowledgePut(id, position, item.number, performance.now())
    record.wrote.set(id, Math.max(position, record.wrote.get(id) ?? 0))
  }

  async #get({ db, record }: Now): Promise<void> {
    const { random, checker } = this.#options
    const id = random.pick(OBJECT_IDS)
    const { mode, ageMs } = random.pick(MODES)
    const read = checker.begin(id, record, `a read (${JSON.stringify(mode)})`, ageMs, performance.now())
    this.requests++
    const item = await db.bucket<Item>(BUCKET).get(id, { read: mode })
    checker.end(read, foundIn(item), item?.served, performance.now())
  }

  /** Counts once for each object in the group. */
  async #getGroup({ db, record }: Now): Promise<void> {
    const { random, checker } = this.#options
    const ids = random.pick(GROUPS)
    const beganMs = performance.now()
    const reads = ids.map(id => checker.begin(id, record, 'a read of several', STALENESS_MS, beganMs))
    this.requests++
    const items = await db.bucket<Item>(BUCKET).getMany(ids)
    const endedMs = performance.now()
    for (const [i, read] of reads.entries()) checker.end(read, foundIn(items[i]), items[i]?.served, endedMs)
  }

  /** Counts as one read; everything in it is judged. */
  async #list({ db, record }: Now): Promise<void> {
    const { checker } = this.#options
    const beganMs = performance.now()
    const reads: OpenRead[] = OBJECT_IDS.map(id => checker.begin(id, record, 'a list', STALENESS_MS, beganMs))
    this.requests++
    const page = await db.bucket<Item>(BUCKET).page({ limit: 1000 })
    const items = new Map(page.items.map(item => [item.id, item]))
    const endedMs = performance.now()
    for (const read of reads) checker.end(read, foundIn(items.get(read.id)), page.served, endedMs)
    checker.reads -= reads.length - 1
  }
}

function foundIn(item: Stored<Item> | undefined): Found | undefined {
  return item && { version: versionOf(item), number: item.number }
}
