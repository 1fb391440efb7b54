/** Three nodes, three copies of everything; a majority is enough. Each node is reached over a line that can be cut. */
import { randomUUID } from 'node:crypto'
import type { Store } from '@freshet/core/store'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { endCassandra, type RunningCassandra, startCassandra } from '../under-test/start-cassandra.js'
import { type CassandraStoreOptions, openCassandraStore } from './open-cassandra-store.js'
import { expectExact, Progress, put, textOf, watch, writeOn } from './under-test/crash-writers.js'

/** Each kill is of another node than the one before. */
const KILLS = Number(process.env.FRESHET_KILLS ?? 1)
const WRITERS = 6
/** Three nodes, and each restart of one, take their time on a busy machine. */
const START_MS_MAX = 240_000
const TEST_MS_MAX = 400_000

let cluster: RunningCassandra
const lines: CuttingLine[] = []
beforeAll(async () => {
  // A node that missed a write keeps missing it until a server reads it by a majority.
  const settings = { hinted_handoff_enabled: 'false' }
  cluster = await startCassandra({ nodes: 3, isBehindLines: true, settings })
  for (const targetHost of cluster.hosts) {
    const listen = { host: targetHost.replace('127.0.0.', '127.0.1.'), port: cluster.port }
    lines.push(await CuttingLine.open(cluster.port, bytes => bytes.includes('[applied]'), { listen, targetHost }))
  }
}, START_MS_MAX)
afterAll(async () => {
  for (const line of lines) await line.close()
  await endCassandra()
})

const toEnd: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const line of lines) line.mend()
  for (const end of toEnd.splice(0).reverse()) await end()
})

async function open(name: string, options: Partial<CassandraStoreOptions> = {}, query = ''): Promise<Store> {
  const url = `cassandra://127.0.1.1,127.0.1.2,127.0.1.3:${cluster.port}/three?replication=3&name=${name}${query}`
  const store = await openCassandraStore({ url, waitMsMax: 60_000, onWarning: () => {}, ...options })
  toEnd.push(() => store.close())
  return store
}

test(
  'while a node is killed and lines are cut, every acknowledged commit is there, once',
  async () => {
    const name = randomUUID()
    const warnings: string[] = []
    const stores = [await open(name, { onWarning: warning => warnings.push(warning) }), await open(name)]
    expect(warnings).toEqual([])
    const begin = await stores[0]!.position()
    const progress = new Progress()
    const writing = Array.from({ length: WRITERS }, (_, i) => writeOn(stores[i % 2]!, i, progress))
    const watching = watch(await open(name), progress)
    const goesOn = (when: string) => progress.goOn(15, when)
    await goesOn('at first')
    for (let kill = 0; kill < KILLS; kill++) {
      const node = 1 + (kill % 2)
      await cluster.kill(node)
      await goesOn(`without node ${node + 1}`)
      await cluster.startAgain(node)
      await loseAnAnswer()
      await goesOn('after an answer was lost')
      lines[0]!.cut()
      await goesOn('without the first line')
      lines[0]!.mend()
    }
    progress.isOver = true
    const written = await Promise.all(writing)
    expect(await watching).toBeGreaterThan(0)
    await expectExact(await open(name), begin, written)
  },
  TEST_MS_MAX,
)

/**
 * Loses the answer to the next append, over any line. Requests that are not appends contain such keys too: then it tries again.
 */
async function loseAnAnswer(): Promise<void> {
  const cuts = () => lines.reduce((sum, line) => sum + line.cuts, 0)
  const before = cuts()
  await eventually('an answer is lost', async () => {
    for (const line of lines) line.cutNext({ request: 'crash/', when: 'after' })
    return cuts() > before
  })
}

test(
  'without a majority nothing is acknowledged, and with a majority everything goes on',
  async () => {
    const name = randomUUID()
    const store = await open(name, { waitMsMax: 3000 })
    await store.commit({ writes: [put('a/b/c', '1')] })
    for (const line of lines.slice(1)) line.cut()
    await cluster.kill(1)
    process.kill(cluster.pids[2]!, 'SIGSTOP')
    const refused = () =>
      store.commit({ writes: [put('a/b/c', '2')] }).then(
        () => false,
        ({ code }) => code === 'STORE_UNAVAILABLE',
      )
    expect(await refused()).toBe(true)
    await expect(store.get('a/b/c')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    for (const line of lines) line.mend()
    process.kill(cluster.pids[2]!, 'SIGCONT')
    await eventually('it is committed again', async () => !(await refused()))
    expect(await textOf(store, 'a/b/c')).toBe('2')
    await cluster.startAgain(1)
  },
  TEST_MS_MAX,
)

test('rows may be read from one copy if they are written to all of them', async () => {
  const name = randomUUID()
  const [store, peer] = [await open(name, {}, '&read=one&write=all'), await open(name, {}, '&read=one&write=all')]
  for (let i = 0; i < 30; i++) {
    const result = await (i % 2 ? store : peer).commit({ writes: [put('a/b/c', `${i}`)] })
    expect(result.committed).toBe(true)
    expect(await textOf(i % 2 ? peer : store, 'a/b/c')).toBe(`${i}`)
  }
  expect(await textOf(await open(name, {}, '&read=one&write=all'), 'a/b/c')).toBe('29')
  const local = await open(name, {}, '&dc=datacenter1')
  expect(await textOf(local, 'a/b/c')).toBe('29')
})

test(
  'objects are read from one copy if it is current, and from a majority if that copy has missed a write or a deletion',
  async () => {
    const name = randomUUID()
    const writer = await open(name)
    const keys = Array.from({ length: 60 }, (_, i) => `a/b/${i}`)
    const expected = new Map(keys.map((key, i): [string, string | undefined] => [key, i % 4 === 0 ? undefined : 'new']))
    await writer.commit({ writes: keys.map(key => put(key, 'old')) })
    // This read gives the objects to all copies.
    await (await open(name)).scan('a/b', { limit: 100 })
    await cluster.kill(2)
    const changes = keys.map(key =>
      expected.get(key) === undefined ? { key, delete: true as const } : put(key, 'new'),
    )
    await writer.commit({ writes: changes })
    // Later records say that the rows were written, so a server that opens the store need not read earlier records.
    for (let i = 0; i < 10; i++) await writer.commit({ writes: [put('a/c/later', `${i}`)] })
    await writer.close()
    await cluster.startAgain(2)
    const reader = await open(name, {}, '&read=current')
    const counts = () => Object.fromEntries(reader.readCounts!().map(({ source, reads }) => [source, reads]))
    for (let round = 0; round < 6; round++) {
      for (const key of keys) expect([key, await textOf(reader, key)]).toEqual([key, expected.get(key)])
    }
    const { nearest = 0, majority = 0 } = counts()
    expect(nearest + majority).toBe(6 * keys.length)
    expect(nearest).toBeGreaterThan(2 * keys.length)
    // Once for each key, to learn its latest version, and again whenever the copy that missed the write was asked before its
    // repair.
    expect(majority).toBeGreaterThanOrEqual(keys.length)
  },
  TEST_MS_MAX,
)
