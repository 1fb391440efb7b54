/** Coordinators in processes of their own, stopped and killed while they hold keys, over three real Redis servers. */
import { setTimeout as delay } from 'node:timers/promises'
import { openRedisStore } from '@freshet/engines/redis'
import { eventually } from '@freshet/engines/under-test/eventually'
import { DURABLE, startRedis } from '@freshet/engines/under-test/redis'
import { type RunningProcess, startProcess } from '@freshet/engines/under-test/start-process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type Cells, openCells } from '../index.js'
import { createStoreNode } from '../nodes/store-node.js'
import { type CoordinatorOptions, monotonicMs, type Report } from '../under-test/coordinator-process.js'

const KEYS = ['shop/products/1', 'shop/products/2', 'shop/products/3']
const PROMISE_MS = 500

const toEnd: (() => Promise<unknown>)[] = []
let urls: readonly string[]
let cells: Cells

beforeEach(async () => {
  const redis = await Promise.all(KEYS.map(() => startRedis({ settings: DURABLE })))
  for (const each of redis) toEnd.push(() => each.stop())
  urls = redis.map(({ url }) => url)
  const stores = await Promise.all(urls.map(url => openRedisStore({ url })))
  const nodes = stores.map((store, i) => ({ name: `n${i}`, node: createStoreNode(store) }))
  cells = await openCells({ nodes, listen: {}, tenures: { promiseMs: PROMISE_MS, claimMsMax: 20_000 } })
  toEnd.push(() => cells.close())
})
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

async function startHolder(options: Pick<CoordinatorOptions, 'listens' | 'writes'>) {
  const argument: CoordinatorOptions = { ...options, urls, keys: KEYS, promiseMs: PROMISE_MS }
  const holder = startProcess(new URL('../under-test/coordinator-process.js', import.meta.url), [
    JSON.stringify(argument),
  ])
  toEnd.push(() => holder.kill())
  const reports: Report[] = []
  holder.child.on('message', message => reports.push(message as Report))
  await holder.message((message): message is Report => (message as Report).kind === 'holding')
  return { holder, reports, reads: () => reports.flatMap(each => (each.kind === 'current' ? [each] : [])) }
}

function signal({ child }: RunningProcess, name: NodeJS.Signals): void {
  process.kill(child.pid!, name)
}

/** A refused write wrote nothing: it is retried. */
async function writeAll(number: number): Promise<void> {
  const body = Buffer.from(`${number}`)
  for (const key of KEYS) {
    await eventually(`${key} is written`, async () => {
      const written = cells.write(key, { contentType: 'text/plain', body })
      return written.then(
        () => true,
        () => false,
      )
    })
  }
}

test.each([true, false])(
  'a holder that was stopped for longer than a promise lasts returns no old value as current when it goes on (listens: %s)',
  async listens => {
    const { holder, reads } = await startHolder({ listens, writes: false })
    await eventually('it reads', () => reads().length > KEYS.length)
    signal(holder, 'SIGSTOP')
    await delay(PROMISE_MS)
    await writeAll(2)
    const writtenMs = monotonicMs()
    const before = reads().length
    signal(holder, 'SIGCONT')
    await eventually('it reads again', () => reads().length > before + 3 * KEYS.length)
    const late = reads().filter(({ beganMs }) => beganMs > writtenMs)
    expect(late.length).toBeGreaterThan(0)
    expect(late.filter(({ number }) => number < 2)).toEqual([])
  },
)

test.each([true, false])(
  'no write of a holder that is killed is lost, and others get its keys (listens: %s)',
  async listens => {
    const { holder, reports } = await startHolder({ listens, writes: true })
    const written = () => reports.flatMap(each => (each.kind === 'written' ? [each] : []))
    await eventually('it writes', () => written().length > 10 * KEYS.length)
    await holder.kill('SIGKILL')
    for (const key of KEYS) {
      const last = Math.max(...written().flatMap(each => (each.key === key ? [each.number] : [])))
      await eventually(`${key} is current`, async () => {
        const read = await cells.read(key, 'CURRENT').catch(() => undefined)
        if (read?.isCurrent === true) expect(Number(Buffer.from(read.value!.body))).toBeGreaterThanOrEqual(last)
        return read?.isCurrent === true
      })
    }
    await writeAll(1_000_000)
  },
)
