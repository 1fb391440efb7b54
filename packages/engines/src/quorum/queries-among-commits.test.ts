import { setImmediate } from 'node:timers/promises'
import type { Query, QueryPage, Store, Write } from '@freshet/core/store'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMemoryStore } from '../memory/index.js'
import { openQuorumStore } from './open-quorum-store.js'
import { sharedNode } from './under-test/shared-nodes.js'

const BUCKET = 'shop/products'
const INDEXES = [{ name: 'by-kind', fields: ['kind', 'price'] }]

/** Through the index forwards, backwards and in several ranges, by id backwards, and through the whole bucket. */
const QUERIES: readonly Query[] = [
  { where: { kind: 'a' }, sort: [{ field: 'price' }], limit: 3 },
  { where: { kind: 'a' }, sort: [{ field: 'price', descending: true }], limit: 5 },
  { where: { kind: { $in: ['a', 'b', 'c'] } }, limit: 100 },
  { where: { price: { $gte: 3 } }, sort: [{ field: '$id', descending: true }], limit: 4 },
  { where: { price: { $lt: 7 } } },
]

interface Change {
  readonly id: number
  readonly kind: string
  /** Undefined: deleted. */
  readonly price: number | undefined
}

const change = fc.record<Change>({
  id: fc.nat({ max: 30 }),
  kind: fc.constantFrom('a', 'b', 'c'),
  price: fc.option(fc.nat({ max: 9 }), { nil: undefined, freq: 4 }),
})
const commits = fc.array(fc.uniqueArray(change, { selector: ({ id }) => id, minLength: 1, maxLength: 8 }), {
  minLength: 5,
  maxLength: 25,
})
const asked = fc.array(fc.nat({ max: QUERIES.length - 1 }), { minLength: 5, maxLength: 20 })

interface Done {
  readonly position: number
  readonly writes: readonly Write[]
}

interface Answered {
  readonly query: Query
  readonly page: QueryPage
}

test('a query sees one state, however two servers commit at the same time', async () => {
  const property = fc.asyncProperty(commits, commits, asked, asked, fc.nat(), async (a, b, c, d, seed) => {
    const nodes = Array.from({ length: 3 }, (_, i) => sharedNode(`${i}`, hesitant(createMemoryStore(), seed + i)))
    const open = () => openQuorumStore({ nodes, onWarning: () => {} })
    const [one, two] = await Promise.all([open(), open()])
    const declared = { writes: [{ ...put(BUCKET, {}), indexes: INDEXES }] }
    const begin = await done(one, declared.writes)
    const [all, pages] = await Promise.all([
      Promise.all([commitAll(one, a), commitAll(two, b)]),
      Promise.all([queryAll(two, c), queryAll(one, d)]),
    ])
    await Promise.all([one.close(), two.close()])
    await compare([begin, ...all.flat()], pages.flat())
  })
  await fc.assert(property, { numRuns: 25 })
})

/** Each query must find what a store in memory finds after the same commits. */
async function compare(all: readonly Done[], answers: readonly Answered[]): Promise<void> {
  const model = createMemoryStore()
  const left = all.toSorted((x, y) => x.position - y.position)
  for (const { query, page } of answers.toSorted((x, y) => x.page.position - y.page.position)) {
    while (left[0] !== undefined && left[0].position <= page.position)
      await model.commit({ writes: left.shift()!.writes })
    const expected = await model.query(BUCKET, query)
    expect(page.entries.map(spell)).toEqual(expected.entries.map(spell))
    expect({ next: page.next, dependsOn: page.dependsOn }).toEqual({
      next: expected.next,
      dependsOn: expected.dependsOn,
    })
  }
}

function spell({ id, body }: { readonly id: string; readonly body: Uint8Array }): string {
  return `${id} ${Buffer.from(body)}`
}

async function commitAll(store: Store, all: readonly (readonly Change[])[]): Promise<readonly Done[]> {
  const found: Done[] = []
  for (const changes of all) found.push(await done(store, changes.map(toWrite)))
  return found
}

async function queryAll(store: Store, asked: readonly number[]): Promise<readonly Answered[]> {
  const found: Answered[] = []
  for (const i of asked) found.push({ query: QUERIES[i]!, page: await store.query(BUCKET, QUERIES[i]!) })
  return found
}

async function done(store: Store, writes: readonly Write[]): Promise<Done> {
  const result = await store.commit({ writes })
  if (!result.committed) throw new Error('It was not committed.')
  return { position: result.position, writes }
}

function toWrite({ id, kind, price }: Change): Write {
  const key = `${BUCKET}/${id}`
  return price === undefined ? { key, delete: true } : put(key, { kind, price })
}

function put(key: string, value: object) {
  return { key, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) }
}

/** Answers after more or fewer turns of the event loop, so that the reads of one query lie apart. */
function hesitant(store: Store, seed: number): Store {
  let state = seed
  const wait = async () => {
    state = (state * 1103515245 + 12345) % 2 ** 31
    for (let turns = state % 4; turns > 0; turns--) await setImmediate()
  }
  return new Proxy(store, {
    get(target, name) {
      const found: unknown = Reflect.get(target, name, target)
      if (typeof found !== 'function') return found
      if (!['getMany', 'scan', 'query', 'commit'].includes(String(name))) return found.bind(target)
      return async (...args: unknown[]) => {
        await wait()
        const result = await found.apply(target, args)
        await wait()
        return result
      }
    },
  })
}
