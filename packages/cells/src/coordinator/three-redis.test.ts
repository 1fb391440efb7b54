/** Three real Redis servers, killed, stopped, cut off and emptied while two coordinators read and write. */
import { setTimeout as delay } from 'node:timers/promises'
import { openRedisStore } from '@freshet/engines/redis'
import { CuttingLine } from '@freshet/engines/under-test/cutting-line'
import { eventually } from '@freshet/engines/under-test/eventually'
import { DURABLE, type RunningRedis, startRedis } from '@freshet/engines/under-test/redis'
import { afterEach, expect, test, vi } from 'vitest'
import { type Cells, openCells, repair } from '../index.js'
import { createLazyNode } from '../nodes/lazy-node.js'
import { createStoreNode } from '../nodes/store-node.js'
import { compareStamps } from '../records/index.js'
import { OneWriterKeys } from '../under-test/one-writer-keys.js'

const NAMES = ['a', 'b', 'c']
const KEYS = Array.from({ length: 6 }, (_, i) => `shop/products/${i}`)
const PAUSE_MS = 5

const toEnd: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

/** Waits until `count` more writes are acknowledged, and as many reads are current. */
type More = (count: number) => Promise<void>

interface Scene {
  readonly redis: readonly RunningRedis[]
  readonly coordinators: readonly Cells[]
  /** Between each coordinator and each node. */
  readonly lines: readonly (readonly CuttingLine[])[]
}

async function open(): Promise<Scene> {
  const redis = await Promise.all(NAMES.map(() => startRedis({ settings: DURABLE })))
  for (const each of redis) toEnd.push(() => each.stop())
  const lines: CuttingLine[][] = []
  const coordinators: Cells[] = []
  for (let i = 0; i < 2; i++) {
    const own = await Promise.all(redis.map(({ port }) => CuttingLine.open(port)))
    for (const line of own) toEnd.push(() => line.close())
    lines.push(own)
    const nodes = NAMES.map((name, n) => {
      const url = `redis://127.0.0.1:${own[n]!.port}`
      const node = createLazyNode(async () => createStoreNode(await openRedisStore({ url, patienceMs: 300 })))
      return { name, node }
    })
    const cells = await openCells({
      nodes,
      hintsEveryMs: 200,
      listen: {},
      tenures: { promiseMs: 400, claimMsMax: 3000 },
    })
    toEnd.push(() => cells.close())
    coordinators.push(cells)
  }
  return { redis, coordinators, lines }
}

/** All coordinators read and write until `harm` is done. */
async function underLoad({ coordinators }: Scene, harm: (more: More) => Promise<void>): Promise<OneWriterKeys> {
  const keys = new OneWriterKeys()
  let isOver = false
  const write = async (key: string, cells: Cells) => {
    while (!isOver) {
      await keys.write(cells, key)
      await delay(PAUSE_MS)
    }
  }
  const read = async (cells: Cells, i: number) => {
    for (let n = i; !isOver; n++) {
      await keys.read(cells, KEYS[n % KEYS.length]!, n % 3 === 0 ? 'QUORUM' : 'CURRENT')
      await delay(PAUSE_MS)
    }
  }
  const load = [
    ...KEYS.map((key, i) => write(key, coordinators[i % 2]!)),
    ...coordinators.flatMap(cells => [read(cells, 0), read(cells, 3)]),
  ]
  try {
    await harm(async count => {
      const { acknowledged, current } = keys.counts
      await eventually(`${count} more writes, and reads`, () => {
        return keys.counts.acknowledged >= acknowledged + count && keys.counts.current >= current + count
      })
    })
  } finally {
    isOver = true
  }
  await Promise.all(load)
  return keys
}

async function allAlike({ coordinators }: Scene): Promise<void> {
  const cells = coordinators[0]!
  await eventually('all nodes are trusted again', async () => {
    await Promise.allSettled(cells.lines.map(line => line.check(cells.view.epoch)))
    return cells.lines.every(({ health }) => !health.isSuspected)
  })
  await cells.deliverHints()
  // A node may be slow to answer, and is asked again.
  await vi.waitFor(() => repair(cells), { timeout: 30_000, interval: 200 })
  for (const key of KEYS) {
    const read = () => Promise.all(cells.view.linesOf(key).map(line => line.read(key, cells.view.epoch)))
    const seen = await vi.waitFor(read, { timeout: 30_000, interval: 200 })
    for (const { record } of seen) expect(compareStamps(record.stamp, seen[0]!.record.stamp)).toBe(0)
  }
}

const HARMS: Readonly<Record<string, (scene: Scene, more: More) => Promise<void>>> = {
  'a node is killed and comes back': async ({ redis }, more) => {
    await redis[0]!.kill()
    await more(20)
    await redis[0]!.restart()
    await more(20)
  },
  'a node stops answering and goes on': async ({ redis }, more) => {
    process.kill(redis[1]!.pid, 'SIGSTOP')
    await more(20)
    process.kill(redis[1]!.pid, 'SIGCONT')
    await more(20)
  },
  'a coordinator is cut off from two nodes, and the other from one': async ({ lines }, more) => {
    const cut = [lines[0]![0]!, lines[0]![1]!, lines[1]![2]!]
    for (const line of cut) line.cut()
    await more(10)
    for (const line of cut) line.mend()
    await more(20)
  },
}

test.each(Object.keys(HARMS))('no write is lost and no read falsely current: %s', async name => {
  const scene = await open()
  const keys = await underLoad(scene, async more => {
    await more(20)
    await HARMS[name]!(scene, more)
  })
  await allAlike(scene)
  for (const cells of scene.coordinators) await keys.check(cells, KEYS)
  expect(keys.violations).toEqual([])
})

test('writes succeed with one node of three away, are refused with two away, and succeed again later', async () => {
  const scene = await open()
  const [cells] = scene.coordinators as [Cells, Cells]
  const keys = new OneWriterKeys()
  await scene.redis[0]!.kill()
  await eventually('a write', async () => {
    await keys.write(cells, KEYS[0]!)
    return keys.counts.acknowledged > 0
  })
  await scene.redis[1]!.kill()
  await expect(cells.write(KEYS[0]!, undefined, 'QUORUM')).rejects.toMatchObject({ code: 'RING_UNAVAILABLE' })
  await eventually('CURRENT is refused', async () => {
    const outcome = await cells.read(KEYS[0]!, 'CURRENT').catch((error: { code?: string }) => error.code)
    return outcome === 'RING_UNAVAILABLE'
  })
  await scene.redis[0]!.restart()
  await scene.redis[1]!.restart()
  await eventually('it is read as current', async () => {
    const read = await cells.read(KEYS[0]!, 'CURRENT').catch(() => undefined)
    return read?.isCurrent === true
  })
})

test('a node that comes back empty is not believed, and the error says so', async () => {
  const scene = await open()
  const [cells] = scene.coordinators as [Cells, Cells]
  await cells.write(KEYS[0]!, { contentType: 'text/plain', body: Buffer.from('tea') }, 'ALL')
  await scene.redis[0]!.kill()
  await scene.redis[0]!.empty()
  await scene.redis[0]!.restart()
  await eventually('it is found out', async () => {
    const error = await cells.read(KEYS[0]!, 'ALL').catch((thrown: Error) => thrown)
    return error instanceof Error && /lost its data|was emptied|is another/.test(error.message)
  })
  const read = await vi.waitFor(() => cells.read(KEYS[0]!, 'CURRENT'), { timeout: 30_000, interval: 200 })
  expect(read.value?.body.toString()).toBe('tea')
})
