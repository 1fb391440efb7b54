/**
 * A coordinator in a process of its own, over Redis: writes its number to each key, says when it holds them, and then reads them one
 * after the other at CURRENT, for as long as it lives. Arguments: what it does besides, its keys, the addresses of its nodes.
 */
import { openRedisStore } from '@freshet/engines/redis'
import { createStoreNode, openCells } from '../index.js'
import { createLazyNode } from '../nodes/lazy-node.js'

export interface CoordinatorOptions {
  readonly urls: readonly string[]
  readonly keys: readonly string[]
  readonly promiseMs: number
  readonly listens: boolean
  /** Goes on to write numbers that grow. */
  readonly writes: boolean
}

/** By the machine's monotonic clock, which is the same for all its processes. */
export type Told =
  | { readonly kind: 'holding' }
  | { readonly kind: 'written'; readonly key: string; readonly number: number }
  | { readonly kind: 'current'; readonly key: string; readonly number: number; readonly beganMs: number }

export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

async function run({ urls, keys, promiseMs, listens, writes }: CoordinatorOptions): Promise<void> {
  const nodes = urls.map((url, i) => ({
    name: `n${i}`,
    node: createLazyNode(async () => createStoreNode(await openRedisStore({ url, patienceMs: 300 }))),
  }))
  const cells = await openCells({ nodes, tenures: { promiseMs }, ...(listens ? { listen: {} } : {}) })
  const tell = (told: Told) => process.send!(told)
  /** Of one that is refused, for the nodes are slow to answer, there is nothing to tell. */
  const write = async (key: string, number: number): Promise<boolean> => {
    const value = { contentType: 'text/plain', body: Buffer.from(`${number}`) }
    const written = await cells.write(key, value).catch(() => undefined)
    if (written !== undefined) tell({ kind: 'written', key, number })
    return written !== undefined
  }
  for (const key of keys) while (!(await write(key, 1)));
  tell({ kind: 'holding' })
  for (let i = 0; ; i++) {
    const key = keys[i % keys.length]!
    const beganMs = monotonicMs()
    // Without an answer there is nothing to tell.
    const read = await cells.read(key, 'CURRENT').catch(() => undefined)
    const number = Number(Buffer.from(read?.value?.body ?? []).toString())
    if (read?.isCurrent === true) tell({ kind: 'current', key, number, beganMs })
    if (writes) await write(key, i + 2)
  }
}

if (process.send !== undefined && process.argv[2] !== undefined) await run(JSON.parse(process.argv[2]))
