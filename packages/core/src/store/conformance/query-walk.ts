/**
 * Random buckets, indexes, writes and queries against the model (`query-model.ts`). The walk remembers the result of every
 * query that it repeats, and what the result depended on. So each step also checks what coherence relies on:
 * - If a result has changed, the log since then has one of the tags it depended on, or the bucket's own record.
 * - A result of the same version is the same result.
 * - A commit that relies on a result succeeds only if it is still the same.
 */
import { bucketOfKey, type Filter, type Scalar, type Sort } from '@freshet/protocol'
import type { Commit, Key, Position, Query, QueryPage, Store } from '../store.js'
import { type ConformanceOptions, ready, testWith, write } from './kit.js'
import { type ModelObject, type ModelValue, pageOf } from './query-model.js'
import { createRandom, type Random } from './random.js'

const FIELDS = ['a', 'b', 'c.d'] as const
const IDS = ['1', '10', '2', 'a', 'ab', 'b', 'c', 'd', 'e', 'é', '\uffff', '😀', '😀x'] as const
const LONG = 'long '.repeat(50)
/** JSON, with the value that it is compared as. */
const VALUES: readonly (readonly [json: string, value: ModelValue])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['0', 0],
  ['-0', 0],
  ['1', 1],
  ['-1', -1],
  ['2.5', 2.5],
  ['-1e300', -1e300],
  ['1e999', Number.MAX_VALUE],
  ['5e-324', 5e-324],
  ['""', ''],
  ['"x"', 'x'],
  ['"x\\u0000"', 'x\0'],
  ['"x\\u0001"', 'x\u0001'],
  ['"xy"', 'xy'],
  ['"é"', 'é'],
  ['"\uffff"', '\uffff'],
  ['"😀"', '😀'],
  ['"\\ud800"', '\ufffd'],
  [`"${LONG}1"`, `${LONG}1`],
  [`"${LONG}2"`, `${LONG}2`],
  ['[1]', {}],
  ['{"e":1}', {}],
]
/** Values that many objects share. */
const COMMON = VALUES.filter(([json]) => json === '1' || json === '-1' || json.includes(LONG))
const SCALARS = VALUES.map(([, value]) => value).filter(
  (value): value is Scalar => value === null || typeof value !== 'object',
)
const STEPS_PER_BUCKET = 8
const QUERIES_PER_BUCKET = 6

export function testQueryWalk(options: ConformanceOptions): void {
  const { seed = 1, queryBuckets: buckets = 40 } = options
  testWith(
    options,
    `queries of ${buckets} buckets agree with their model, from seed ${seed}`,
    async ({ store, peer }) => {
      const random = createRandom(seed)
      for (let number = 0; number < buckets; number++) {
        const walk = new QueryWalk(options, random, store, peer ?? store, `walk/b${number}`)
        await walk.run()
      }
    },
  )
}

interface Seen {
  readonly page: QueryPage
  readonly result: string
}

class QueryWalk {
  readonly #options: ConformanceOptions
  readonly #random: Random
  readonly #store: Store
  readonly #reader: Store
  readonly #bucket: Key
  readonly #objects = new Map<string, ModelObject>()
  readonly #queries: readonly Query[]
  readonly #seen = new Map<Query, Seen>()
  readonly #byVersion = new Map<string, string>()

  constructor(options: ConformanceOptions, random: Random, store: Store, reader: Store, bucket: Key) {
    this.#options = options
    this.#random = random
    this.#store = store
    this.#reader = reader
    this.#bucket = bucket
    this.#queries = Array.from({ length: QUERIES_PER_BUCKET }, () => drawQuery(random))
  }

  async run(): Promise<void> {
    for (let step = 0; step < STEPS_PER_BUCKET; step++) {
      if (this.#random.chance(0.3)) await this.#declare()
      else await this.#write()
      if (this.#random.chance(0.5)) await ready(this.#options, this.#store, this.#bucket)
      for (const query of this.#queries) await this.#check(query)
      await this.#readPages(drawQuery(this.#random))
    }
  }

  async #declare(): Promise<void> {
    const indexes = Array.from({ length: this.#random.below(4) }, (_, i) => {
      const fields = [...FIELDS].sort(() => (this.#random.chance(0.5) ? 1 : -1))
      return { name: `index-${i}`, fields: fields.slice(0, 1 + this.#random.below(FIELDS.length)) }
    })
    await write(this.#store, { key: this.#bucket, contentType: 'application/json', body: new Uint8Array(), indexes })
  }

  async #write(): Promise<void> {
    const ids = new Set(Array.from({ length: 1 + this.#random.below(6) }, () => this.#random.pick(IDS)))
    const drawn = [...ids].map(id =>
      this.#random.chance(0.25) ? this.#delete(id) : drawObject(this.#random, this.#bucket, id),
    )
    const position = await write(this.#store, ...drawn.map(({ write: one }) => one))
    for (const { id, fields } of drawn) {
      if (fields === undefined) this.#objects.delete(id)
      else this.#objects.set(id, { id, version: position, fields })
    }
  }

  #delete(id: string): DrawnWrite {
    return { id, write: { key: `${this.#bucket}/${id}`, delete: true }, fields: undefined }
  }

  async #check(query: Query): Promise<void> {
    const page = await this.#reader.query(this.#bucket, query)
    const { found, isLast } = pageOf([...this.#objects.values()], query)
    const result = JSON.stringify([page.entries.map(({ id, version }) => [id, version]), page.next === undefined])
    const expected = JSON.stringify([found.map(({ id, version }) => [id, version]), isLast])
    this.#same(result, expected, query, page)
    const { version, position, dependsOn } = page
    const alone = await this.#reader.queryVersion(this.#bucket, query)
    this.#same(
      JSON.stringify([alone.version, alone.position, alone.dependsOn]),
      JSON.stringify([version, position, dependsOn]),
      query,
      page,
    )
    const name = `${version} ${JSON.stringify(query)}`
    this.#same(this.#byVersion.get(name) ?? result, result, query, page, 'a version has two results')
    this.#byVersion.set(name, result)
    await this.#checkChange(query, { page, result })
    this.#seen.set(query, { page, result })
  }

  async #checkChange(query: Query, now: Seen): Promise<void> {
    const before = this.#seen.get(query)
    if (before === undefined) return
    const { version, dependsOn, position } = before.page
    const list = { bucket: this.#bucket, version, ...(dependsOn !== 'bucket' && { tags: dependsOn }) }
    const { committed } = await this.#store.commit({ lists: [list], writes: [] })
    if (committed) this.#same(now.result, before.result, query, before.page, 'a commit relied on a changed result')
    if (before.result === now.result) return
    this.#same(await this.#isInLog(position, dependsOn), true, query, before.page, 'a change is not in the log')
  }

  async #isInLog(after: Position, dependsOn: QueryPage['dependsOn']): Promise<boolean> {
    const entries = await this.#store.changes(after)
    return entries.some(({ keys, tags }) => {
      if (keys.includes(this.#bucket)) return true
      if (dependsOn === 'bucket') return keys.some(key => bucketOfKey(key) === this.#bucket)
      return dependsOn.some(tag => tags.includes(tag))
    })
  }

  /** Page by page, with writes in between: each page is what follows the last entry of the one before. */
  async #readPages(query: Query): Promise<void> {
    const paged = { ...query, limit: 1 + this.#random.below(4) }
    let last: ModelObject | undefined
    let after: string | undefined
    do {
      const asked = after === undefined ? paged : { ...paged, after }
      const page = await this.#reader.query(this.#bucket, asked)
      const { found, isLast } = pageOf([...this.#objects.values()], paged, last)
      const result = JSON.stringify([page.entries.map(({ id }) => id), page.next === undefined])
      this.#same(result, JSON.stringify([found.map(({ id }) => id), isLast]), asked, page)
      last = found.at(-1)
      after = page.next
      if (this.#random.chance(0.4)) await this.#write()
    } while (after !== undefined)
  }

  /** The runner's own comparison is too slow to be made this often. */
  #same(actual: unknown, expected: unknown, query: Query, { plan }: QueryPage, what = 'differs from the model'): void {
    if (actual === expected) return
    const about = `${what}: ${this.#bucket}, ${JSON.stringify(query)}. ${plan.text}`
    this.#options.kit.expect(actual, about).toBe(expected)
  }
}

interface DrawnWrite {
  readonly id: string
  readonly write: Commit['writes'][number]
  /** Undefined: deleted. */
  readonly fields: ModelObject['fields'] | undefined
}

function drawObject(random: Random, bucket: Key, id: string): DrawnWrite {
  const fields: Record<string, ModelValue> = {}
  const members: Record<string, string> = {}
  for (const field of FIELDS) {
    if (random.chance(0.2)) continue
    const [json, value] = random.pick(random.chance(0.6) ? COMMON : VALUES)
    fields[field] = value
    members[field] = json
  }
  const { 'c.d': inner, ...outer } = members
  const all = { ...outer, ...(inner !== undefined && { c: `{"d":${inner}}` }) }
  const text = `{${Object.entries(all)
    .map(([name, json]) => `"${name}":${json}`)
    .join(',')}}`
  const body = new TextEncoder().encode(text)
  return { id, write: { key: `${bucket}/${id}`, contentType: 'application/json', body }, fields }
}

function drawQuery(random: Random): Query {
  return {
    ...(random.chance(0.9) && { where: drawFilter(random, 2) }),
    ...(random.chance(0.7) && { sort: drawSort(random) }),
    ...(random.chance(0.5) && { limit: 1 + random.below(5) }),
  }
}

function drawSort(random: Random): readonly Sort[] {
  const fields = [...FIELDS, '$id'].sort(() => (random.chance(0.5) ? 1 : -1)).slice(0, 1 + random.below(3))
  const isDescending = random.chance(0.5)
  const end = fields.indexOf('$id')
  return (end === -1 ? fields : fields.slice(0, end + 1)).map(field => ({
    field,
    descending: random.chance(0.8) ? isDescending : !isDescending,
  }))
}

function drawFilter(random: Random, depth: number): Filter {
  const clauses = () => Array.from({ length: 1 + random.below(2) }, () => drawFilter(random, depth - 1))
  const members: [string, Filter[string]][] = Array.from({ length: 1 + random.below(2) }, () => {
    const field = random.chance(0.15) ? '$id' : random.pick(FIELDS)
    return [field, drawMember(random, () => (field === '$id' ? random.pick(IDS) : drawScalar(random)))]
  })
  if (depth > 0 && random.chance(0.15)) members.push(['$or', clauses()])
  if (depth > 0 && random.chance(0.1)) members.push(['$and', clauses()])
  return Object.fromEntries(members)
}

/** Most often one of a few, so that many objects are found. */
function drawScalar(random: Random): Scalar {
  return random.pick(random.chance(0.5) ? [1, -1, `${LONG}1`, `${LONG}2`] : SCALARS)
}

function drawMember(random: Random, scalar: () => Scalar): Filter[string] {
  if (random.chance(0.4)) return scalar()
  const text = () => random.pick(['', 'x', 'lon', LONG, '😀', '1', 'a'])
  return random.pick([
    () => ({ $eq: scalar() }),
    () => ({ $ne: scalar() }),
    () => ({ $lt: scalar() }),
    () => ({ $lte: scalar() }),
    () => ({ $gt: scalar() }),
    () => ({ $gte: scalar() }),
    () => ({ $gte: scalar(), $lt: scalar() }),
    () => ({ $in: Array.from({ length: 1 + random.below(12) }, scalar) }),
    () => ({ $prefix: text() }),
    () => ({ $exists: random.chance(0.5) }),
    () => ({ $exists: true, $ne: scalar() }),
  ])()
}
