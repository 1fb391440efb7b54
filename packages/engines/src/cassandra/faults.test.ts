/**
 * Promises that hold while Cassandra is killed, cut off, stopped or restored. One node, reached directly or over a cuttable
 * line.
 */
import { randomUUID } from 'node:crypto'
import type { Position, Store } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import cassandra from 'cassandra-driver'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { CuttingLine } from '../under-test/cutting-line.js'
import { eventually } from '../under-test/eventually.js'
import { endCassandra, type RunningCassandra, startCassandra } from '../under-test/start-cassandra.js'
import { parseAddress } from './address.js'
import { ChangeLog } from './change-log.js'
import { type CassandraStoreOptions, openCassandraStore } from './open-cassandra-store.js'
import { Rows } from './rows.js'
import { Session } from './session.js'
import { SLOTS_PER_PART } from './statements.js'
import { expectExact, Progress, positionOf, put, textOf, watch, writeOn } from './under-test/crash-writers.js'

const KILLS = Number(process.env.FRESHET_KILLS ?? 1)
const WRITERS = 8
const KEYSPACE = 'faults'
/** A start of the node may take this long on a busy machine. */
const WAIT_MS_MAX = 120_000
const KILLS_MS_MAX = (KILLS + 1) * WAIT_MS_MAX

let node: RunningCassandra
let line: CuttingLine
let direct: cassandra.Client
beforeAll(async () => {
  node = await startCassandra({ isBehindLines: true })
  const listen = { host: '127.0.1.1', port: node.port }
  // Only the answers to appends, and to `hold`, contain this.
  line = await CuttingLine.open(node.port, bytes => bytes.includes('[applied]'), { listen })
  direct = new cassandra.Client({
    contactPoints: ['127.0.0.1'],
    protocolOptions: { port: node.port },
    policies: { loadBalancing: new cassandra.policies.loadBalancing.RoundRobinPolicy() },
    encoding: { map: Map },
  })
})
afterAll(async () => {
  await direct.shutdown()
  await line.close()
  await endCassandra()
})

const toEnd: (() => Promise<void>)[] = []
afterEach(async () => {
  line.mend()
  for (const end of toEnd.splice(0).reverse()) await end()
})

/** `far` is reached over the line. */
async function open(where: 'near' | 'far', name: string, options: Partial<CassandraStoreOptions> = {}): Promise<Store> {
  const host = where === 'near' ? '127.0.0.1' : '127.0.1.1'
  const url = `cassandra://${host}:${node.port}/${KEYSPACE}?name=${name}`
  const store = await openCassandraStore({ url, waitMsMax: WAIT_MS_MAX, onWarning: () => {}, ...options })
  toEnd.push(() => store.close())
  return store
}

async function rowsOf(query: string, parameters: readonly (string | number)[]): Promise<cassandra.types.Row[]> {
  const options = { prepare: true, consistency: cassandra.types.consistencies.one }
  return (await direct.execute(query, [...parameters], options)).rows ?? []
}

test(
  `a killed node keeps what it acknowledged, and each commit is made once; kills: ${KILLS}`,
  async () => {
    const name = randomUUID()
    const stores = [await open('near', name), await open('near', name)]
    const { log } = stores[0]!
    expect(stores[0]!.supports.durability).toBe('disk')
    const begin = await stores[0]!.position()
    const progress = new Progress()
    const writing = Array.from({ length: WRITERS }, (_, i) => writeOn(stores[i % 2]!, i, progress))
    const watching = watch(await open('near', name), progress)
    for (let kill = 0; kill < KILLS; kill++) {
      await progress.goOn(20, `before kill ${kill + 1}`)
      await node.kill()
      await node.startAgain()
    }
    progress.isOver = true
    const written = await Promise.all(writing)
    expect(await watching).toBeGreaterThan(0)
    expect(written.flatMap(({ done }) => done).length).toBeGreaterThan(KILLS * 20)
    const store = await open('near', name)
    await expectExact(store, begin, written)
    expect(store.log).toBe(log)
  },
  KILLS_MS_MAX,
)

for (const when of ['before', 'after'] as const) {
  test(`an append whose connection is lost ${when} it is made counts once, and its outcome is known`, async () => {
    const name = randomUUID()
    const [far, near] = [await open('far', name), await open('near', name)]
    const before = positionOf(await far.commit({ writes: [put('a/b/c', 'before')] }))
    const cuts = line.cuts
    line.cutNext({ request: 'a/b/marked', when })
    const adds = [{ key: 'a/n/x', by: 1, decimals: 0 }]
    const position = positionOf(await far.commit({ writes: [put('a/b/marked', 'once')], adds }))
    expect(line.cuts).toBe(cuts + 1)
    expect(await textOf(near, 'a/n/x')).toBe('1')
    expect((await near.get('a/b/marked'))?.version).toBe(position)
    const entries = await near.changes(before)
    expect(entries.map(({ keys }) => keys)).toEqual([['a/b/marked', 'a/n/x']])
    // The store goes on, in both directions.
    const next = positionOf(await near.commit({ writes: [put('a/b/c', 'again')] }))
    expect((await far.get('a/b/c'))?.version).toBe(next)
  })
}

test('a server that ends after an append, before writing rows, has committed, and another server writes the rows', async () => {
  const name = randomUUID()
  const far = await open('far', name, { waitMsMax: 500 })
  const near = await open('near', name)
  await near.commit({ writes: [put('a/b/c', 'old')] })
  // Otherwise its append would first be refused.
  await far.position()
  line.cutNext({ request: 'a/b/new', when: 'after', forAll: true })
  const lost = far.commit({ writes: [put('a/b/c', 'new'), put('a/b/new', 'new')] })
  await expect(lost).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } })
  const row = () =>
    rowsOf(`SELECT value FROM ${KEYSPACE}.objects WHERE store = ? AND bucket = 'a/b' AND id = 'new'`, [name])
  expect(await row()).toEqual([])
  expect(await textOf(near, 'a/b/c')).toBe('new')
  expect((await near.scan('a/b')).entries.map(({ id, body }) => [id, Buffer.from(body).toString()])).toEqual([
    ['c', 'new'],
    ['new', 'new'],
  ])
  expect(await row()).toEqual([])
  // The next server to open the store writes the row.
  const next = await open('near', name)
  expect(await textOf(next, 'a/b/new')).toBe('new')
  await eventually('the row is written', async () => (await row()).length === 1)
})

test('a server that stayed open writes those rows too, once the log has advanced far enough', async () => {
  const name = randomUUID()
  const far = await open('far', name, { waitMsMax: 200 })
  const near = await open('near', name)
  await far.position()
  line.cutNext({ request: 'a/b/new', when: 'after', forAll: true })
  await expect(far.commit({ writes: [put('a/b/new', 'new')] })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const row = () =>
    rowsOf(`SELECT value FROM ${KEYSPACE}.objects WHERE store = ? AND bucket = 'a/b' AND id = 'new'`, [name])
  for (let i = 0; i < 60; i++) await near.commit({ writes: [put('a/b/other', `${i}`)] })
  expect(await row()).toEqual([])
  for (let i = 0; i < 10; i++) await near.commit({ writes: [put('a/b/other', `${i}`)] })
  await eventually('the row is written', async () => (await row()).length === 1)
  expect(await textOf(near, 'a/b/new')).toBe('new')
})

test('rows may be written again, late and in any order: the newest ones stay', async () => {
  const name = randomUUID()
  const store = await open('near', name)
  for (const text of ['9', '8', '7']) await store.commit({ writes: [put('a/b/c', text), put('a/b/gone', text)] })
  await store.commit({ writes: [{ key: 'a/b/gone', delete: true }] })
  for (const value of [3, 2, 1]) await store.remember('name', Buffer.from([value]))
  await store.close()
  const address = parseAddress(`cassandra://127.0.0.1:${node.port}/${KEYSPACE}?name=${name}`)
  const session = new Session({ address, answerMsMax: 5000 })
  toEnd.push(() => session.close())
  await session.connect()
  const { records } = await new ChangeLog(session, name, () => 0).read(0)
  const rows = new Rows(session, name)
  for (const record of [...records].reverse()) await rows.apply(record)
  expect(Buffer.from((await rows.object('a/b/c'))!.body).toString()).toBe('7')
  expect(await rows.object('a/b/gone')).toBe(undefined)
  expect(await rows.memory('name')).toEqual(Buffer.from([1]))
})

test('a node that does not answer is given up, and used again when it answers', async () => {
  const name = randomUUID()
  const store = await open('near', name, { waitMsMax: 2000, answerMsMax: 2000 })
  await store.commit({ writes: [put('a/b/c', '1')] })
  const [pid] = node.pids
  process.kill(pid!, 'SIGSTOP')
  const unavailable = { code: 'STORE_UNAVAILABLE' }
  await expect(store.commit({ writes: [put('a/b/c', '2')] })).rejects.toMatchObject(unavailable)
  await expect(store.get('a/b/c')).rejects.toMatchObject({ ...unavailable, details: { outcome: 'not-done' } })
  process.kill(pid!, 'SIGCONT')
  await eventually('it is read again', () => textOf(store, 'a/b/c').then(found => found !== undefined, isUnavailable))
  const again = () => store.commit({ writes: [put('a/b/c', '3')] }).then(({ committed }) => committed, isUnavailable)
  await eventually('it is written again', again)
  expect(await textOf(store, 'a/b/c')).toBe('3')
})

function isUnavailable(error: unknown): boolean {
  if (error instanceof FreshetError && error.code === 'STORE_UNAVAILABLE') return false
  throw error
}

test('a record that becomes visible much later than its stamp has its keys in the log a second time', async () => {
  const name = randomUUID()
  const [far, near] = [await open('far', name), await open('near', name)]
  await far.commit({ writes: [put('a/b/c', 'before')] })
  line.cutNext({ request: 'a/b/late', when: 'before', forAll: true })
  const cuts = line.cuts
  const committing = far.commit({ writes: [put('a/b/late', 'late')] })
  await eventually('it is on its way', () => line.cuts > cuts)
  const cutMs = near.nowMs()
  await eventually('more than a second passes', () => near.nowMs() > cutMs + 1500)
  expect(await near.get('a/b/late')).toBe(undefined)
  line.mend()
  const position = positionOf(await committing)
  expect(await textOf(near, 'a/b/late')).toBe('late')
  await eventually('there is a second entry', async () => (await near.changes(position)).length > 0)
  const [first, second] = await near.changes(position - 1)
  expect(second!.keys).toEqual(first!.keys)
  expect(second!.timeMs).toBeGreaterThan(cutMs + 1500)
  // There is one second entry, though both servers noticed the late record.
  await far.commit({ writes: [put('a/b/c', 'after')] })
  expect((await near.changes(position)).map(({ keys }) => keys)).toEqual([['a/b/late'], ['a/b/c']])
  expect((await near.get('a/b/late'))?.version).toBe(position)
})

test('a log that has lost records that a server has seen becomes another log, whose positions go on', async () => {
  const name = randomUUID()
  const store = await open('near', name)
  const { log } = store
  await store.commit({ writes: [put('a/b/c', 'kept')] })
  const lost = positionOf(await store.commit({ writes: [put('a/b/c', 'lost')] }))
  const [{ slot }] = (await rowsOf(
    `SELECT slot FROM ${KEYSPACE}.log WHERE store = ? AND part = 0 ORDER BY slot DESC LIMIT 1`,
    [name],
  )) as [cassandra.types.Row]
  const last = slot.toNumber()
  await rowsOf(`DELETE FROM ${KEYSPACE}.log WHERE store = ? AND part = 0 AND slot = ?`, [name, last])
  await rowsOf(`UPDATE ${KEYSPACE}.log SET head = ? WHERE store = ? AND part = 0`, [last - 1, name])
  const next = positionOf(await store.commit({ writes: [put('a/b/d', 'new')] }))
  expect(next).toBeGreaterThan(lost)
  // The store has the new id as soon as a reader that follows the log is refused.
  await expect(store.changes(lost)).rejects.toMatchObject({ code: 'LOG_TRIMMED' })
  expect(store.log).not.toBe(log)
  expect((await store.changes(await store.trimmedTo())).map(({ keys }) => keys)).toEqual([['a/b/d']])
})

test('a log is deleted by partitions, and no server can append to a deleted one', async () => {
  const name = randomUUID()
  const store = await open('near', name)
  const positions: Position[] = []
  const last = async () => {
    const rows = await rowsOf(`SELECT slot FROM ${KEYSPACE}.log WHERE store = ? AND part = 1 LIMIT 5`, [name])
    return rows.length
  }
  for (let i = 0; i < SLOTS_PER_PART || (await last()) < 5; i++) {
    positions.push(positionOf(await store.commit({ writes: [put(`a/b/${i % 7}`, `${i}`)] })))
  }
  const some = positions.at(-3)!
  expect((await store.changes(positions[3]!, 3)).map(({ position }) => position)).toEqual(positions.slice(4, 7))
  const other = await open('near', name)
  // This server has not followed the log from its beginning.
  const from = await other.changes(positions[0]!, 100_000)
  expect(from.map(({ position }) => position)).toEqual(positions.slice(1))
  await other.trim(some)
  const rowsIn = (part: number) =>
    rowsOf(`SELECT slot FROM ${KEYSPACE}.log WHERE store = ? AND part = ? AND slot >= 0`, [name, part])
  expect(await rowsIn(0)).toEqual([])
  expect((await rowsIn(1)).length).toBeGreaterThan(0)
  expect((await store.changes(some)).map(({ position }) => position)).toEqual(positions.slice(-2))
  const again = await open('near', name)
  expect((await again.changes(some)).map(({ position }) => position)).toEqual(positions.slice(-2))
  const late = `UPDATE ${KEYSPACE}.log SET head = 0, id = 'late' WHERE store = ? AND part = 0 AND slot = 0 IF head = null`
  expect((await direct.execute(late, [name], { prepare: true })).wasApplied()).toBe(false)
})

/** A store, and another server of the same store, idle while its place in the log is deleted. */
async function trimmedUnder(): Promise<{ store: Store; sleeper: Store }> {
  const name = randomUUID()
  const [store, sleeper] = [await open('near', name), await open('near', name)]
  await store.commit({ writes: [put('a/b/c', 'old')] })
  expect(await textOf(sleeper, 'a/b/c')).toBe('old')
  for (let i = 0; i <= SLOTS_PER_PART; i++) await store.commit({ writes: [put('a/b/c', `${i}`)] })
  await store.trim(await store.position())
  return { store, sleeper }
}

// A process that was stopped finds that all clocks have advanced; on a machine that slept, all but the monotonic clock have.
for (const [what, clock] of [['machine slept', Date] as const, ['process was stopped', performance] as const]) {
  test(`a server whose ${what} while the log was trimmed goes on from the log's end, and serves nothing old`, async () => {
    const { store, sleeper } = await trimmedUnder()
    const nowMs = clock.now.bind(clock)
    const spy = vi.spyOn(clock, 'now').mockImplementation(() => nowMs() + 60_000)
    try {
      const reads = await Promise.all([textOf(sleeper, 'a/b/c'), sleeper.getMany(['a/b/c']), sleeper.position()])
      expect(reads[0]).toBe(`${SLOTS_PER_PART}`)
      expect(Buffer.from(reads[1].value[0]!.body).toString()).toBe(`${SLOTS_PER_PART}`)
      expect(reads[2]).toBe(await store.position())
      positionOf(await sleeper.commit({ writes: [put('a/b/c', 'awake')] }))
      expect(await textOf(store, 'a/b/c')).toBe('awake')
    } finally {
      spy.mockRestore()
    }
  })
}

test('a server that slept and has no clock that shows it finds out by its first commit, and goes on', async () => {
  const { store, sleeper } = await trimmedUnder()
  // Any server may have taken its slot, and the slot is deleted.
  const first = sleeper.commit({ writes: [put('a/b/d', 'awake')] })
  await expect(first).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { outcome: 'unknown' } })
  expect(await textOf(sleeper, 'a/b/c')).toBe(`${SLOTS_PER_PART}`)
  const position = positionOf(await sleeper.commit({ writes: [put('a/b/d', 'awake')] }))
  expect((await store.get('a/b/d'))?.version).toBe(position)
})

test('a commit that is too large is refused, and the commits beside it are made', async () => {
  const store = await open('near', randomUUID())
  const large = { key: 'a/b/large', contentType: 'text/plain', body: Buffer.alloc(10 * 1024 * 1024, 1) }
  const [refused, ...others] = await Promise.allSettled([
    store.commit({ writes: [large] }),
    ...Array.from({ length: 5 }, (_, i) => store.commit({ writes: [put(`a/b/${i}`, `${i}`)] })),
  ])
  expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'LIMIT_EXCEEDED' } })
  for (const other of others) expect(other).toMatchObject({ status: 'fulfilled', value: { committed: true } })
  const body = Buffer.alloc(9 * 1024 * 1024, 2)
  positionOf(await store.commit({ writes: [{ ...large, body }] }))
  expect((await store.get('a/b/large'))?.body.length).toBe(body.length)
})

test('operations that are too old are forgotten, and only those', async () => {
  const name = randomUUID()
  // Long enough for everything the test does while the new operation must count as new.
  const retentionMs = 5000
  const store = await open('near', name, { retentionMs })
  const operation = (id: string) => ({ id: { kind: 'foreign', id } as const, fingerprint: id })
  const add = { writes: [], adds: [{ key: 'a/n/x', by: 1, decimals: 0 }] }
  await store.commit({ ...add, operation: operation('old') })
  const doneMs = store.nowMs()
  await eventually('its time is over', () => store.nowMs() > doneMs + retentionMs)
  const other = await open('near', name, { retentionMs })
  await other.commit({ ...add, operation: operation('new') })
  await eventually('both are in the table', async () => (await other.operationCounts()).foreign === 2)
  const third = await open('near', name, { retentionMs })
  await third.forgetOperations()
  expect((await third.operationCounts()).foreign).toBe(1)
  expect(await third.commit({ ...add, operation: operation('new') })).toMatchObject({ replayed: { note: '' } })
})

test('settings that put data at risk cause warnings, and levels that could miss writes are refused', async () => {
  const warnings: string[] = []
  await open('near', randomUUID(), { onWarning: warning => warnings.push(warning) })
  expect(warnings).toEqual([expect.stringMatching(/one copy .*ALTER KEYSPACE faults/)])
  const mistaken = `cassandra://127.0.0.1:${node.port}/mistaken?replication=3&read=one&write=quorum`
  const unusable = { code: 'STORE_UNUSABLE', message: expect.stringMatching(/read=one and write=quorum of 3 copies/) }
  await expect(openCassandraStore({ url: mistaken, onWarning: () => {} })).rejects.toMatchObject(unusable)
  await expect(openCassandraStore({ url: 'cassandra://127.0.0.1:1/x' })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
  })
})
