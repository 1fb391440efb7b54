/** Clients that write straight to servers, past all caches, and record what was acknowledged. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, FreshetError, type ObjectBucket } from '@freshet/client'
import type { Random } from '../harness/random.js'
import { connectMeanwhile } from './connect-meanwhile.js'
import type { RecordedHistory } from './recorded-history.js'
import { BUCKET, type Item, itemOf, OBJECT_IDS } from './stored-items.js'

export interface DirectWritersOptions {
  /** Each writer uses one of them. */
  readonly urls: readonly string[]
  readonly history: RecordedHistory
  readonly random: Random
  readonly count: number
  readonly pauseMs: number
}

/** Long, so that only a request that hangs fails, and not one that waits for a busy processor. */
const CONNECT = { timeoutMs: 60_000 }
const DELETE_SHARE = 0.05

export class DirectWriters {
  readonly #options: DirectWritersOptions

  constructor(options: DirectWritersOptions) {
    this.#options = options
  }

  /** Writes initial objects, so that there is something to read. */
  async fill(): Promise<void> {
    const { urls, history } = this.#options
    const random = this.#options.random.fork('fill')
    const db = await connect(urls[0]!, CONNECT)
    for (const id of OBJECT_IDS) await put(db.bucket<Item>(BUCKET), id, history, random)
    db.close()
  }

  run(isOver: () => boolean): Promise<void>[] {
    return Array.from({ length: this.#options.count }, (_, i) => this.#write(i, isOver))
  }

  async #write(i: number, isOver: () => boolean): Promise<void> {
    const { urls, history, pauseMs } = this.#options
    const random = this.#options.random.fork(`writer ${i}`)
    const db = await connectMeanwhile(urls[i % urls.length]!, { ...CONNECT, retriesMax: 12 }, isOver)
    if (db === undefined) return
    const items = db.bucket<Item>(BUCKET)
    while (!isOver()) {
      try {
        await writeOne(items, history, random)
      } catch (error) {
        // The server is down. Whether the write took effect is unknown, and nothing is recorded.
        if (!(error instanceof FreshetError)) throw error
      }
      await delay(random.float() * 2 * pauseMs)
    }
    db.close()
  }
}

async function writeOne(items: ObjectBucket<Item>, history: RecordedHistory, random: Random): Promise<void> {
  const id = random.pick(OBJECT_IDS)
  if (random.float() >= DELETE_SHARE) return put(items, id, history, random)
  history.beginDelete(id)
  const answer = await items.delete(id)
  if (answer) history.acknowledgeDelete(id, answer.position, performance.now())
  else history.dropDelete(id)
}

async function put(items: ObjectBucket<Item>, id: string, history: RecordedHistory, random: Random): Promise<void> {
  const item = itemOf(random)
  const { position } = await items.put(id, item)
  history.acknowledgePut(id, position, item.number, performance.now())
}
