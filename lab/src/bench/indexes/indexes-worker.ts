/** The work in each contender's process: a bucket of products with a given number of indexes, and the time of its commits. */
import type { LogEntry } from '@freshet/core/store'
import { type EmbeddedStore, openEmbeddedStore } from '@freshet/engines/lmdb'
import type { ContenderWorker } from '../../harness/contender-worker.js'
import { createRandom, type Random } from '../../harness/random.js'
import type { CommitLoad } from '../commit/commit-worker.js'

const BUCKET = 'shop/products'
/** The bench uses none of them, the first, or all three. */
const INDEXES = [
  { name: 'by-category', fields: ['category', 'price'] },
  { name: 'by-author', fields: ['author'] },
  { name: 'by-price', fields: ['price'] },
]
const VALUE_BYTES = 500
const LOG_ENTRIES = 1000

export interface IndexesSettings extends CommitLoad {
  readonly indexes: number
}

export interface IndexesFacts {
  /** The size of the keys and tags of one commit in the log. */
  readonly logBytesPerCommit: number
}

export function createIndexesWorker(): ContenderWorker<IndexesSettings, IndexesFacts, 'commit'> {
  let runRound: (() => Promise<number>) | undefined
  return {
    async prepare(settings) {
      const store = await openEmbeddedStore({ path: settings.path })
      const random = createRandom(settings.seed)
      const indexes = INDEXES.slice(0, settings.indexes)
      await store.commit({
        writes: [{ key: BUCKET, contentType: 'application/json', body: Buffer.from('{}'), indexes }],
      })
      const ids = Array.from({ length: settings.entries }, (_, i) => String(i))
      await putAll(store, ids, settings.inFlight * 16, random)
      const before = await store.position()
      await putAll(store, ids.slice(0, LOG_ENTRIES), settings.inFlight, random)
      const log = await store.changes(before, LOG_ENTRIES)
      runRound = async () => {
        const chosen = Array.from({ length: settings.commitsPerRound }, () => random.pick(ids))
        const startMs = performance.now()
        await putAll(store, chosen, settings.inFlight, random)
        return ((performance.now() - startMs) * 1e6) / chosen.length
      }
      return { logBytesPerCommit: bytesOf(log) / log.length }
    },
    async round() {
      if (!runRound) throw new TypeError('The worker was not prepared.')
      return { commit: await runRound() }
    },
  }
}

/** With one byte between two entries. */
function bytesOf(log: readonly LogEntry[]): number {
  return log.reduce((bytes, { keys, tags }) => bytes + Buffer.byteLength([...keys, ...tags].join('\0')) + 1, 0)
}

/** Keeps `inFlight` operations in flight until all are done. */
async function putAll(store: EmbeddedStore, ids: readonly string[], inFlight: number, random: Random): Promise<void> {
  let next = 0
  const work = async () => {
    while (next < ids.length) {
      const body = drawProduct(random)
      await store.commit({ writes: [{ key: `${BUCKET}/${ids[next++]!}`, contentType: 'application/json', body }] })
    }
  }
  await Promise.all(Array.from({ length: inFlight }, work))
}

function drawProduct(random: Random): Buffer {
  const drawn = random.uint32()
  const product = { category: `category ${drawn % 20}`, price: drawn % 1000, author: `author ${drawn % 507}`, text: '' }
  const text = 'x'.repeat(VALUE_BYTES - JSON.stringify(product).length)
  return Buffer.from(JSON.stringify({ ...product, text }))
}
