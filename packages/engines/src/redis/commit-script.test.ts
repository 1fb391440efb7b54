/**
 * The script has its own rules for deciding on commits. This test compares it with `decide` of core, which the store in memory
 * uses: random commits, by two servers in turn, have the same results and leave the same data, indexes, tags and log, step by
 * step.
 */
import { RETENTION_MS_DEFAULT, UNSETTLED_MAX } from '@freshet/core/counters'
import type { Addition, Commit, Key, Operation, QueryPage, ReadList, Store, Write } from '@freshet/core/store'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createMemoryStore } from '../memory/memory-store.js'
import { type RunningRedis, startRedis } from '../under-test/start-redis.js'
import { openRedisStore } from './open-redis-store.js'

let redis: RunningRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const BUCKETS = ['a/b', 'a/b-', 'c/d']
const IDS = ['1', '10', '2', 'a', 'ä', '😀']
const NUMBERS = ['0', '7', '-3', '1.50', '9007199254740990', '01', '']
const OBJECTS = [
  '{"a":1}',
  '{"a":1,"b":"x"}',
  '{"a":2,"b":null,"c":{"d":1}}',
  '{"b":[1]}',
  '[1]',
  '{"a":"\\u0000"}',
  '{',
]
const FIELDS: readonly (readonly string[])[] = [['a'], ['b'], ['a', 'b'], ['b', 'a', 'c.d'], ['c.d']]
const TAGS = ['?a=[1]', '?a=[2]', '?a=[missing]', '?b=["x"]', '?a,b=[1,"x"]', '?b,a=[null,2]', '?c.d=[1]', '?e=[1]', '']
const QUERIES = [{ where: { a: 1 } }, { where: { b: 'x' }, sort: [{ field: 'a' }] }, { sort: [{ field: 'b' }] }]

/** `other` in `tenths` of ten cases, so that about half of the commits are made. */
function seldom<Value>(tenths: number, usual: Value, other: fc.Arbitrary<Value>): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 10 - tenths, arbitrary: fc.constant(usual) }, { weight: tenths, arbitrary: other })
}

const bucket = fc.constantFrom(...BUCKETS)
const object = fc.tuple(bucket, fc.constantFrom(...IDS)).map(parts => parts.join('/'))
const key = fc.oneof({ weight: 9, arbitrary: object }, { weight: 1, arbitrary: bucket })
/** How far the version that a commit relies on is from the true one. */
const error = seldom(1, 0, fc.constantFrom(1, -1))
/** How many commits ago a list was read. */
const ago = fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 6 }) }, { weight: 1, arbitrary: fc.nat(200) })
const bound = fc.option(fc.constantFrom(...IDS, '', 'z'), { nil: undefined })
const tags = fc.array(fc.constantFrom(...TAGS), { minLength: 1, maxLength: 2 })
const units = fc.constantFrom(0, 1, -1, 5, -200, 2 ** 53 - 1)
const addition = fc.record({
  key: object,
  by: units,
  decimals: fc.constantFrom(0, 0, 1, 2),
  min: fc.option(units, { nil: undefined }),
  max: fc.option(units, { nil: undefined }),
})

const list = fc.oneof(
  fc.record({ bucket, ago, from: bound, to: bound, after: bound, prefix: bound, through: bound }),
  fc.record({ bucket, ago, tags }),
)
const operation = fc.record({
  client: fc.constantFrom(undefined, 'client-number-one', 'client-number-two'),
  sequence: fc.integer({ min: 1, max: 40 }),
  settledTo: fc.integer({ min: 0, max: 20 }),
  age: fc.constantFrom(0, 0, 0, RETENTION_MS_DEFAULT + 100_000, -100_000),
  fingerprint: fc.constantFrom('f', 'f', 'f', 'g'),
})
type DrawnOperation = typeof operation extends fc.Arbitrary<infer Value> ? Value : never
interface Declaration {
  readonly bucket: Key
  readonly fields: readonly (readonly string[])[]
}

/** A commit without what depends on the state in which it is made; the server that makes it; and a query afterwards. */
const drawn = fc.record({
  reads: fc.array(fc.record({ key, error }), { minLength: 1, maxLength: 2 }),
  lists: seldom(5, [], fc.array(list, { minLength: 1, maxLength: 2 })),
  writes: fc.uniqueArray(
    fc.record({
      key,
      isText: seldom(1, false, fc.constant(true)),
      body: fc.option(fc.constantFrom(...NUMBERS, ...OBJECTS, ...OBJECTS), { nil: undefined }),
    }),
    { selector: write => write.key, maxLength: 3 },
  ),
  declaration: seldom<Declaration | undefined>(1, undefined, fc.record({ bucket, fields: fc.subarray([...FIELDS]) })),
  adds: seldom(2, [], fc.uniqueArray(addition, { selector: add => add.key, maxLength: 2 })),
  operation: seldom<DrawnOperation | undefined>(3, undefined, operation),
  server: fc.nat(1),
  asked: fc.record({ server: fc.nat(1), bucket, query: fc.constantFrom(...QUERIES) }),
})
type Drawn = typeof drawn extends fc.Arbitrary<infer Value> ? Value : never

/** The value without its undefined members, as a caller would leave them out. */
function defined<Value extends object>(value: Value): Value {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Value
}

async function commitFor(each: Drawn, model: Store, nowMs: number): Promise<Commit> {
  const { reads, lists, adds } = each
  const writes = writesFor(each)
  const written = new Set<Key>(writes.map(write => write.key))
  const position = await model.position()
  const versionOf = async (read: Key) => (await model.get(read))?.version ?? 0
  return {
    reads: await Promise.all(
      reads.map(async read => ({ key: read.key, version: Math.max(0, (await versionOf(read.key)) + read.error) })),
    ),
    lists: lists.map(({ ago: commits, ...read }) => {
      const version = Math.max(0, position - commits)
      const about = 'tags' in read ? { ...read, tags: read.tags.map(tag => read.bucket + tag) } : defined(read)
      return { ...about, version } as ReadList
    }),
    writes,
    adds: adds.filter(add => !written.has(add.key)).map((add): Addition => defined(add) as Addition),
    ...(each.operation && { operation: operationFor(each.operation, nowMs) }),
  }
}

function writesFor({ writes, declaration }: Drawn): readonly Write[] {
  const others = writes
    .filter(write => write.key !== declaration?.bucket)
    .map((write): Write => {
      if (write.body === undefined) return { key: write.key, delete: true }
      const contentType = write.isText ? 'text/plain' : 'application/json'
      return { key: write.key, contentType, body: Buffer.from(write.body) }
    })
  if (declaration === undefined) return others
  const indexes = declaration.fields.map(fields => ({ name: `by-${FIELDS.indexOf(fields)}`, fields }))
  const body = Buffer.from('{}')
  return [...others, { key: declaration.bucket, contentType: 'application/json', body, indexes }]
}

function operationFor({ client, sequence, settledTo, age, fingerprint }: DrawnOperation, nowMs: number): Operation {
  const id =
    client === undefined
      ? ({ kind: 'foreign', id: `foreign-${sequence}` } as const)
      : ({ kind: 'own', client, sequence, settledTo: Math.min(settledTo, sequence - 1), madeMs: nowMs - age } as const)
  return { id, fingerprint, note: `note ${sequence}` }
}

test('the script decides on random commits, by two servers in turn, as decide of core does', async () => {
  let number = 0
  await fc.assert(
    fc.asyncProperty(fc.array(drawn, { minLength: 1, maxLength: 150, size: 'max' }), async commits => {
      const name = `walk-${++number}`
      const open = () => openRedisStore({ url: redis.url, name, onWarning: () => {} })
      const servers = [await open(), await open()]
      let nowMs = 0
      const model = createMemoryStore({ nowMs: () => nowMs, positionsAfter: await servers[0]!.position() })
      try {
        for (const each of commits) {
          const server = servers[each.server]!
          nowMs = server.nowMs()
          const commit = await commitFor(each, model, nowMs)
          // The model takes ownership of the bytes too.
          const expected = await model.commit(structuredClone(commit))
          expect(await server.commit(commit)).toEqual(expected)
          const { asked } = each
          expect(plainPage(await servers[asked.server]!.query(asked.bucket, asked.query))).toEqual(
            plainPage(await model.query(asked.bucket, asked.query)),
          )
        }
        await expectSame(servers[0]!, model)
      } finally {
        await Promise.all([...servers, model].map(store => store.close()))
      }
    }),
    { numRuns: 60 },
  )
})

function plainPage({ entries, version, dependsOn }: QueryPage): unknown {
  return { entries: entries.map(({ id, ...value }) => [id, ...plain(value)]), version, dependsOn }
}

function plain(value: { version: number; contentType: string; body: Uint8Array }): readonly unknown[] {
  return [value.version, value.contentType, Buffer.from(value.body).toString()]
}

async function expectSame(store: Store, model: Store): Promise<void> {
  const keys = [...BUCKETS, ...BUCKETS.flatMap(each => IDS.map(id => `${each}/${id}`))]
  const read = async (from: Store) => {
    const { value, position } = await from.getMany(keys)
    const log = await from.changes(await from.trimmedTo(), 1000)
    const entries = log.map(entry => [entry.position, entry.keys, [...entry.tags].sort()])
    return { position, values: value.map(found => found && plain(found)), entries }
  }
  expect(await read(store)).toEqual(await read(model))
}

test('the script and core refuse the same operation when a client has too many under way', async () => {
  const store = await openRedisStore({ url: redis.url, name: 'overflowing', onWarning: () => {} })
  const nowMs = store.nowMs()
  const model = createMemoryStore({ nowMs: () => nowMs, positionsAfter: await store.position() })
  const commits = Array.from({ length: UNSETTLED_MAX + 1 }, (_, i): Commit => {
    const id = { kind: 'own', client: 'client-number-one', sequence: i + 1, settledTo: 0, madeMs: nowMs } as const
    return { writes: [], operation: { id, fingerprint: 'f' } }
  })
  const results = await Promise.all(commits.map(commit => store.commit(commit)))
  expect(results.at(-1)).toMatchObject({ refusedOperation: 'overflowing' })
  expect(results).toEqual(await Promise.all(commits.map(commit => model.commit(commit))))
  await store.close()
})
