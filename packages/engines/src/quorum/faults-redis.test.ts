/** Promises that hold while nodes are killed, stopped, cut off, emptied or full. Three Redis servers, each behind a line. */
import { randomUUID } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  expectExact,
  Progress,
  positionOf,
  put,
  textOf,
  watch,
  writeOn,
} from '../cassandra/under-test/crash-writers.js'
import { connectTo } from '../redis/client.js'
import { openRedisStore } from '../redis/index.js'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { DURABLE, type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { openQuorumStore, type QuorumStoreOptions } from './open-quorum-store.js'

const WRITERS = 6

let redis: RunningRedis[]
let lines: CuttingLine[]
beforeAll(async () => {
  redis = await Promise.all([1, 2, 3].map(() => startRedis({ settings: DURABLE })))
  lines = await Promise.all(redis.map(({ port }) => CuttingLine.open(port, () => true)))
})
afterAll(async () => {
  for (const line of lines) await line.close()
  for (const server of redis) await server.stop()
})

let name: string
let warnings: string[]
const toEnd: (() => Promise<void>)[] = []
beforeEach(() => {
  name = randomUUID()
  warnings = []
})
afterEach(async () => {
  for (const line of lines) line.mend()
  for (const end of toEnd.splice(0).reverse()) await end()
})

/** `far`: the nodes that are reached over lines that can be cut. */
async function open(options: Partial<QuorumStoreOptions> = {}, far: readonly number[] = []): Promise<Store> {
  const nodes = redis.map(({ url }, i) => {
    const own = far.includes(i) ? `redis://127.0.0.1:${lines[i]!.port}` : url
    const settings = { url: own, name, answerMsMax: 1000, patienceMs: 1000 }
    return { place: `node ${i + 1}`, open: () => openRedisStore(settings) }
  })
  const store = await openQuorumStore({ nodes, waitMsMax: 30_000, onWarning: text => warnings.push(text), ...options })
  toEnd.push(() => store.close())
  return store
}

/** Runs writers and a watcher during the harm; in the end every acknowledged commit is there, once. */
async function under(
  stores: readonly Store[],
  harm: (goesOn: (what: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const begin = await stores[0]!.position()
  const progress = new Progress()
  const writing = Array.from({ length: WRITERS }, (_, i) => writeOn(stores[i % stores.length]!, i, progress))
  const watching = watch(await open(), progress)
  const goesOn = (when: string) => progress.goOn(20, when)
  try {
    await goesOn('at first')
    await harm(goesOn)
  } finally {
    progress.isOver = true
  }
  const written = await Promise.all(writing)
  expect(await watching).toBeGreaterThan(0)
  await expectExact(await open(), begin, written)
}

test('while nodes are killed one after the other, every acknowledged commit is there, once', async () => {
  await under([await open(), await open()], async goesOn => {
    for (const [i, node] of redis.entries()) {
      await node.kill()
      await goesOn(`without node ${i + 1}`)
      await node.restart()
      await goesOn(`with node ${i + 1} again`)
    }
  })
})

test('a node that hangs and wakes up later delays no commits and brings nothing old back', async () => {
  await under([await open(), await open()], async goesOn => {
    for (const { pid } of redis.slice(0, 2)) {
      process.kill(pid, 'SIGSTOP')
      try {
        await goesOn('while it hangs')
      } finally {
        process.kill(pid, 'SIGCONT')
      }
      await goesOn('after that')
    }
  })
})

test('two servers that are each cut off from a different node go on, and see the same', async () => {
  await under([await open({}, [0]), await open({}, [2])], async goesOn => {
    lines[0]!.cut()
    lines[2]!.cut()
    const isMissed = (node: RegExp) => warnings.some(text => node.test(text))
    await eventually('both have noticed', () => isMissed(/node 1 does not/) && isMissed(/node 3 does not/))
    // Each server sees the other's appends on one node alone.
    for (let i = 0; i < 3; i++) await goesOn('over what is left')
    for (const line of lines) line.mend()
    await goesOn('over everything')
  })
})

test('a node that comes back empty has no vote until it is rebuilt, and then counts like any other', async () => {
  await under([await open(), await open()], async goesOn => {
    await redis[2]!.kill()
    await redis[2]!.empty()
    await redis[2]!.restart()
    await eventually('it is rebuilt', () => warnings.some(text => /node 3 has been rebuilt/.test(text)))
    expect(warnings).toEqual(expect.arrayContaining([expect.stringMatching(/node 3 has lost/)]))
    // Now the rebuilt node is one of the two that are needed.
    await redis[0]!.kill()
    await goesOn('with the rebuilt node')
    await redis[0]!.restart()
  })
})

test('without a majority nothing is acknowledged or read, and with a majority everything goes on', async () => {
  const store = await open({ waitMsMax: 3000 })
  await store.commit({ writes: [put('a/b/c', '1')] })
  await redis[0]!.kill()
  await redis[1]!.kill()
  const refused = () =>
    store.commit({ writes: [put('a/b/c', '2')] }).then(
      () => false,
      ({ code }) => code === 'STORE_UNAVAILABLE',
    )
  expect(await refused()).toBe(true)
  await expect(store.get('a/b/c')).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/2 of 3 nodes are needed; node 1: .*node 2: /),
  })
  await redis[0]!.restart()
  await eventually('it is committed again', async () => !(await refused()))
  expect(await textOf(store, 'a/b/c')).toBe('2')
  await redis[1]!.restart()
})

test('if two of three nodes were emptied, the ring does not open: they may have forgotten votes', async () => {
  const store = await open()
  await store.commit({ writes: [put('a/b/c', '1')] })
  await store.close()
  for (const node of redis.slice(0, 2)) {
    await node.kill()
    await node.empty()
    await node.restart()
  }
  await expect(open()).rejects.toMatchObject({
    code: 'STORE_UNUSABLE',
    message: expect.stringMatching(/node 1 and node 2 have lost their data/),
  })
})

test('a node without space does not disturb the others, and catches up when it has space', async () => {
  const client = await connectTo(redis[1]!.url)
  const limit = (bytes: string) => client.sendCommand(['CONFIG', 'SET', 'maxmemory', bytes])
  const store = await open()
  try {
    await under([store], async goesOn => {
      await limit('1mb')
      await goesOn('while one node is full')
      await limit('0')
      // Now the node that was full is one of the two that are needed.
      await redis[0]!.kill()
      await goesOn('with the node that was full')
      await redis[0]!.restart()
    })
  } finally {
    await limit('0')
    await client.close()
  }
})

test('nodes of different rings, too few nodes, or one node twice are refused', async () => {
  const node = (i: number, own: string) => ({
    place: `node ${i + 1}`,
    open: () => openRedisStore({ url: redis[i]!.url, name: own }),
  })
  const ring = (nodes: QuorumStoreOptions['nodes']) => openQuorumStore({ nodes, onWarning: () => {} })
  const [one, two] = [randomUUID(), randomUUID()]
  for (const each of [one, two]) await (await ring([0, 1, 2].map(i => node(i, each)))).close()
  const refused = (why: RegExp) => ({ code: 'STORE_UNUSABLE', message: expect.stringMatching(why) })
  await expect(ring([node(0, one), node(1, one), node(2, two)])).rejects.toMatchObject(refused(/different rings/))
  await expect(ring([node(0, one), node(1, one)])).rejects.toMatchObject(refused(/founded with 3 nodes, not 2/))
  await expect(ring([node(0, one), node(1, one), node(1, one)])).rejects.toMatchObject(refused(/are the same node/))
  const used = await openRedisStore({ url: redis[2]!.url, name: 'used' })
  await used.commit({ writes: [put('a/b/c', 'other data')] })
  await used.close()
  await expect(ring([0, 1, 2].map(i => node(i, 'used')))).rejects.toMatchObject(refused(/node 3 holds other data/))
})

test('a position is seen by every server as soon as one server has returned it', async () => {
  const [store, peer] = [await open(), await open()]
  for (let i = 0; i < 20; i++) {
    const position = positionOf(await store.commit({ writes: [put('a/b/c', `${i}`)] }))
    expect((await peer.get('a/b/c'))?.version).toBe(position)
    expect(await peer.position()).toBeGreaterThanOrEqual(position)
  }
})
