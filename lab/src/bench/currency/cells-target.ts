/**
 * Cells over three independent Redis servers, each of which has every object: read at CURRENT, by the timestamp that its holder
 * issued last, and at QUORUM. Before each round some objects are rewritten while one of the three servers, a different one each
 * time, does not take the write.
 */

import { type Cells, createStoreNode, type Node, openCells } from '@freshet/cells'
import { openRedisStore } from '@freshet/engines/redis'
import { FreshetError } from '@freshet/protocol'
import { createRandom } from '../../harness/random.js'
import { type CurrencySettings, type CurrencyTarget, keyOf } from './currency-target.js'

const CELLS = 300
const ATTEMPTS_MAX = 20
/** A busy machine must not look like a failed node, nor must a node that misses a write on purpose. */
const HEALTH = { timeoutMsMin: 4000, timeoutMsMax: 8000, failuresMax: 1000, probeMs: 200, probeMsMax: 5000 }
/** The share of objects of which one of three copies is behind. */
export const BEHIND_SHARE = 0.3

export async function openCellsTarget({ kind, nodes: urls, seed }: CurrencySettings): Promise<CurrencyTarget> {
  const random = createRandom(seed)
  // A separate ring, so that no other store holds its objects.
  const open = (url: string) => openRedisStore({ url, name: kind.replace(/\W/g, '-') })
  const nodes = (await Promise.all(urls.map(open))).map(store => missing(createStoreNode(store)))
  const cells = await untilOpen(() =>
    openCells({
      nodes: nodes.map(({ node }, i) => ({ name: `node-${i}`, node })),
      hintsEveryMs: 0,
      repairShare: 0,
      health: HEALTH,
    }),
  )
  const latest = new Map<string, number>()
  const write = async (key: string) => {
    const number = (latest.get(key) ?? 0) + 1
    await cells.write(key, { contentType: 'text/plain', body: Buffer.from(`${number}`.padEnd(500)) })
    latest.set(key, number)
  }
  const keys = Array.from({ length: CELLS }, (_, i) => keyOf(i))
  for (const key of keys) await write(key)
  const level = kind.startsWith('current') ? 'CURRENT' : 'QUORUM'
  const totals = { nodeReads: 0, behind: 0 }
  return {
    keys: CELLS,
    totals: () => ({ ...totals }),
    latest: async key => latest.get(key)!,
    async beforeRound() {
      for (const key of keys.filter(() => random.float() < BEHIND_SHARE)) {
        const { missed } = random.pick(nodes)
        missed.add(key)
        await write(key)
        await cells.quiet()
        missed.delete(key)
      }
    },
    async get(key) {
      const { value, replicas, isCurrent } = await cells.read(key, level)
      if (level === 'CURRENT' && !isCurrent) throw new Error(`The read of ${key} was not reported as current.`)
      totals.nodeReads += replicas
      totals.behind += level === 'CURRENT' ? replicas - 1 : 0
      return value && { version: Number(Buffer.from(value.body).toString()) }
    },
  }
}

/** Retries for a while, for a machine that is too busy to answer at once. */
async function untilOpen(open: () => Promise<Cells>): Promise<Cells> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof FreshetError) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

/** Misses writes of the named keys. */
function missing(node: Node): { readonly node: Node; readonly missed: Set<string> } {
  const missed = new Set<string>()
  const write: Node['write'] = (change, holds) =>
    missed.has(change.key)
      ? Promise.reject(new Error('This node misses the write on purpose.'))
      : node.write(change, holds)
  return {
    missed,
    node: {
      read: keys => node.read(keys),
      write,
      scan: (bucket, range) => node.scan(bucket, range),
      buckets: () => node.buckets(),
      close: () => node.close(),
    },
  }
}
