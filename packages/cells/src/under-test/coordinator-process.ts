/**
 * A coordinator in a process of its own, over Redis. It writes a number to each key, reports when it holds the keys, and then
 * reads them one after the other at CURRENT, for as long as it lives. Argument: `CoordinatorOptions` as JSON.
 */
import { openRedisStore } from '@freshet/engines/redis'
import { createStoreNode, openCells } from '../index.js'
import { createLazyNode } from '../nodes/lazy-node.js'

export interface CoordinatorOptions {
  readonly urls: readonly string[]
  readonly keys: readonly string[]
  readonly promiseMs: number
  readonly listens: boolean
  /** Also writes growing numbers. */
  readonly writes: boolean
}

/** What the process sends. Times are by the machine's monotonic clock, which is the same for all its processes. */
export type Report =
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
  const send = (report: Report) => process.send!(report)
  /** A write that is refused, because the nodes are slow to answer, is not reported. */
  const write = async (key: string, number: number): Promise<boolean> => {
    const value = { contentType: 'text/plain', body: Buffer.from(`${number}`) }
    const written = await cells.write(key, value).catch(() => undefined)
    if (written !== undefined) send({ kind: 'written', key, number })
    return written !== undefined
  }
  for (const key of keys) while (!(await write(key, 1)));
  send({ kind: 'holding' })
  for (let i = 0; ; i++) {
    const key = keys[i % keys.length]!
    const beganMs = monotonicMs()
    // A read without an answer is not reported.
    const read = await cells.read(key, 'CURRENT').catch(() => undefined)
    const number = Number(Buffer.from(read?.value?.body ?? []).toString())
    if (read?.isCurrent === true) send({ kind: 'current', key, number, beganMs })
    if (writes) await write(key, i + 2)
  }
}

if (process.send !== undefined && process.argv[2] !== undefined) await run(JSON.parse(process.argv[2]))
