/** Indexes in a real Redis that several servers use at once: which entries remain, and what queries see meanwhile. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseFields, valueAt } from '@freshet/core/queries'
import type { Key, PutWrite, Query, Store } from '@freshet/core/store'
import { createRandom } from '@freshet/core/store/conformance'
import { entryKey } from '@freshet/store/indexes'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../under-test/eventually.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { type Client, connectTo, type Reply } from './client.js'
import { readDeclared } from './declared-indexes.js'
import { openRedisStore } from './open-redis-store.js'

const BUCKET = 'shop/products'

let redis: RunningRedis
let client: Client
let stores = 0

beforeAll(async () => {
  redis = await startRedis()
  client = await connectTo(redis.url)
})
afterAll(async () => {
  client.destroy()
  await redis.stop()
})

function begin(): { readonly name: string; readonly open: () => Promise<Store> } {
  const name = `indexes-${stores++}`
  return { name, open: () => openRedisStore({ url: redis.url, name, onWarning: () => {} }) }
}

function object(id: string, value: object): PutWrite {
  return { key: `${BUCKET}/${id}`, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) }
}

function declare(...indexes: readonly (readonly string[])[]): PutWrite {
  return {
    key: BUCKET,
    contentType: 'application/json',
    body: Buffer.from('{}'),
    indexes: indexes.map(fields => ({ name: `by-${fields.join('-')}`, fields })),
  }
}

async function ready(store: Store): Promise<void> {
  await eventually('the indexes are ready', async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
}

function command(...args: string[]): Promise<Reply> {
  return client.sendCommand(args)
}

async function textsOf(...args: string[]): Promise<string[]> {
  return ((await command(...args)) as readonly Buffer[]).map(each => each.toString('latin1'))
}

/** Expects exactly the entries and records that the objects' values require: none missing, none left over. */
async function expectExact(name: string, store: Store, bucket: Key): Promise<void> {
  const prefix = `{freshet:${name}}:`
  const { entries: objects } = await store.scan(bucket, { limit: 100_000 })
  const { indexes } = readDeclared('0', String((await command('HGET', `${prefix}indexes`, bucket)) ?? '[]'))
  for (const { number, fields } of indexes) {
    const expected = objects.map(({ id, contentType, body }) => {
      const value = parseFields(contentType, body)
      return entryKey(
        number,
        fields.map(field => valueAt(value, field)),
        id,
      ).toString('latin1')
    })
    expect(await textsOf('ZRANGE', `${prefix}e:${number}`, '-', '+', 'BYLEX')).toEqual(expected.sort())
  }
  const noted = (await textsOf('HKEYS', `${prefix}x:${bucket}`)).sort()
  expect(noted).toEqual(indexes.length === 0 ? [] : objects.map(({ id }) => Buffer.from(id).toString('latin1')).sort())
  const keys = (await textsOf('KEYS', `${prefix}e:*`)).map(key => Number(key.slice(prefix.length + 2)))
  expect(indexes.map(({ number }) => number)).toEqual(expect.arrayContaining(keys))
}

test.each([1, 2, 3])(
  'writers, declarations and builds at once leave exactly the entries of all objects, %i',
  async seed => {
    const random = createRandom(seed)
    const { name, open } = begin()
    const ways = await Promise.all([open(), open(), open()])
    const ids = Array.from({ length: 1200 }, (_, i) => `${i}`)
    const drawValue = () => ({ a: random.below(5), ...(random.chance(0.5) && { b: `x${random.below(3)}` }) })
    await ways[0]!.commit({ writes: ids.map(id => object(id, drawValue())) })
    let isOver = false
    const write = async (way: Store) => {
      while (!isOver) {
        const key = `${BUCKET}/${random.pick(ids)}`
        const kind = random.below(10)
        if (kind === 0) await way.commit({ writes: [{ key, delete: true }] })
        else if (kind === 1) await way.commit({ writes: [], adds: [{ key, by: 1, decimals: 0 }] })
        else await way.commit({ writes: [{ ...object('', drawValue()), key }] })
      }
    }
    const writing = ways.flatMap(way => [write(way), write(way)])
    for (let i = 0; i < 12; i++) {
      const fields = [['a'], ['b'], ['a', 'b']].filter(() => random.chance(0.6))
      await random.pick(ways).commit({ writes: [declare(...fields)] })
      if (random.chance(0.3)) await ready(ways[0]!)
      else for (let turn = random.below(60); turn > 0; turn--) await nextTurn()
    }
    await ways[0]!.commit({ writes: [declare(['a'], ['b', 'a'])] })
    await ready(ways[1]!)
    isOver = true
    await Promise.all(writing)
    await expectExact(name, ways[2]!, BUCKET)
    await ways[2]!.commit({ writes: [declare(['b', 'a'])] })
    await expectExact(name, ways[2]!, BUCKET)
    expect((await ways[0]!.indexes(BUCKET)).map(({ isReady }) => isReady)).toEqual([true])
    await ways[1]!.commit({ writes: [{ key: BUCKET, delete: true }] })
    await expectExact(name, ways[2]!, BUCKET)
    expect(await textsOf('KEYS', `{freshet:${name}}:x:*`)).toEqual([])
    await Promise.all(ways.map(way => way.close()))
  },
)

test('a query of more than one read sees one state of a bucket that changes all the time, and ends', async () => {
  const { open } = begin()
  const [store, other] = await Promise.all([open(), open()])
  const count = 1500
  await store.commit({
    writes: [declare(['group']), ...Array.from({ length: 2 * count }, (_, i) => object(`${i}`, { group: i % 2 }))],
  })
  await ready(store)
  let isOver = false
  let commits = 0
  const swap = async () => {
    for (let i = 0; !isOver; i++, commits++) {
      const [a, b] = [(2 * i) % (2 * count), (2 * i + 1) % (2 * count)]
      const turn = Math.floor(i / count) % 2
      await other.commit({ writes: [object(`${a}`, { group: 1 - turn }), object(`${b}`, { group: turn })] })
    }
  }
  const swapping = swap()
  const queries: Query[] = [
    { where: { group: 1 }, sort: [{ field: 'x' }], limit: 1000 },
    { where: { group: { $exists: true } }, sort: [{ field: 'y' }], limit: 1000 },
  ]
  const before = commits
  for (let i = 0; i < 20; i++) {
    const [one, all] = await Promise.all(queries.map(query => store.query(BUCKET, query)))
    expect(one!.examined).toBe(count)
    expect(all!.examined).toBe(2 * count)
  }
  expect(commits).toBeGreaterThan(before)
  isOver = true
  await swapping
  await Promise.all([store.close(), other.close()])
})

test('from the first index on, a Freshet that does not know of indexes can neither connect nor write', async () => {
  const { name, open } = begin()
  const store = await open()
  const head = async () => String(await command('GET', `{freshet:${name}}:head`))
  const format = async () => String(await command('HGET', `{freshet:${name}}:meta`, 'format'))
  await store.commit({ writes: [object('1', { a: 1 }), { ...declare(), indexes: [] }] })
  expect(await format()).toBe('1')
  // The form that scripts of format 1 expect.
  expect(await head()).toMatch(/^\d+ \d+$/)
  await store.commit({ writes: [declare(['a'])] })
  expect(await format()).toBe('2')
  expect(await head()).not.toMatch(/^\d+ \d+$/)
  await store.close()
  const again = await open()
  await again.commit({ writes: [object('2', { a: 1 })] })
  expect(await head()).not.toMatch(/^\d+ \d+$/)
  expect((await again.query(BUCKET, { where: { a: 1 } })).entries.map(({ id }) => id)).toEqual(['1', '2'])
  await again.close()
})

test('an index that a server left unfinished is built by the next servers, once', async () => {
  const { name, open } = begin()
  const store = await open()
  await store.commit({ writes: Array.from({ length: 3000 }, (_, i) => object(`${i}`, { a: i % 7 })) })
  await store.commit({ writes: [declare(['a'])] })
  await store.close()
  const ways = await Promise.all([open(), open()])
  await ready(ways[0]!)
  expect(await ways[1]!.indexes(BUCKET)).toMatchObject([{ done: 3000, total: 3000 }])
  await expectExact(name, ways[0]!, BUCKET)
  expect(await textsOf('SMEMBERS', `{freshet:${name}}:unbuilt`)).toEqual([])
  await Promise.all(ways.map(way => way.close()))
})
