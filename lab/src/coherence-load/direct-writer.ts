/** Writes straight to the server, past all caches, and notes what it was told. */
import { setTimeout as delay } from 'node:timers/promises'
import { connect, FreshetError, type ObjectBucket } from '@freshet/client'
import type { Random } from '../harness/random.js'
import type { RecordedHistory } from './recorded-history.js'
import { BUCKET, type Item, itemOf, OBJECT_IDS } from './stored-items.js'

export interface DirectWriterOptions {
  readonly url: string
  readonly history: RecordedHistory
  readonly random: Random
  readonly pauseMs: number
}

const DELETE_SHARE = 0.05
/** Long, so that only what hangs fails, and not what has to wait for a busy processor. */
const WRITE_MS_MAX = 60_000

/** So that there is something to read. */
export async function fill({ url, history, random }: DirectWriterOptions): Promise<void> {
  const db = await connect(url, { timeoutMs: WRITE_MS_MAX })
  for (const id of OBJECT_IDS) {
    const item = itemOf(random)
    const { position } = await db.bucket<Item>(BUCKET).put(id, item)
    history.acknowledgePut(id, position, item.number, performance.now())
  }
  db.close()
}

export async function writeDirectly(options: DirectWriterOptions, isOver: () => boolean): Promise<void> {
  const { url, random, pauseMs } = options
  const db = await connect(url, { retriesMax: 12, timeoutMs: WRITE_MS_MAX })
  const items = db.bucket<Item>(BUCKET)
  while (!isOver()) {
    try {
      await writeOne(options, items)
    } catch (error) {
      // While the server is down. What became of the write nobody knows, and nothing is noted.
      if (!(error instanceof FreshetError)) throw error
    }
    await delay(random.float() * 2 * pauseMs)
  }
  db.close()
}

async function writeOne({ history, random }: DirectWriterOptions, items: ObjectBucket<Item>): Promise<void> {
  const id = random.pick(OBJECT_IDS)
  if (random.float() < DELETE_SHARE) {
    history.beginDelete(id)
    const answer = await items.delete(id)
    if (answer) history.acknowledgeDelete(id, answer.position, performance.now())
    else history.dropDelete(id)
  } else {
    const item = itemOf(random)
    const { position } = await items.put(id, item)
    history.acknowledgePut(id, position, item.number, performance.now())
  }
}
