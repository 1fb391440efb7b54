/**
 * Two stores that differ only in rows that are hidden from the callers: the same requests must get the same answers, byte for
 * byte. Rules, indexes, rows, their histories and the requests are random. Each hidden write of one store has a counterpart at
 * the same place of the other store's log, a hidden write of another row or a write to another bucket, because positions count
 * everybody's commits.
 */
import type { Store, Write } from '@freshet/core/store'
import { createRandom, type Random } from '@freshet/core/store/conformance'
import { expect, test } from 'vitest'
import { type RunningServer, startServer, until } from '../../testing/running-server.js'
import { CURSOR_KEY } from '../cursor-seals.js'
import { AccessRules } from '../rules/access-rules.js'
import type { Claims } from '../rules/decision.js'
import { parseRules } from '../rules/parse-rules.js'
import { bearer, TOKENS } from './bearer.js'
import { type AskedRequest, createRequest, FIELDS, VALUES } from './random-requests.js'

export interface HiddenRowsOptions {
  readonly seedFirst: number
  readonly seeds: number
  readonly requests: number
}

type OpenStore = () => Promise<Store>

interface Scene {
  readonly server: RunningServer
  /** The position after which the rows begin. Positions of the two stores are compared relative to it. */
  readonly base: number
}

const BUCKET = 'shop/rows'
const ROWS = 40
const WRITES = 90
const CALLERS: readonly (Claims | undefined)[] = [
  { sub: 'ann', level: 2, teams: ['a', 'b'] },
  { sub: 'zoe' },
  undefined,
]
/** Some find their rows by an index or by ids, and some by neither. */
const CONDITIONS = [
  ...['object.owner == claim.sub', 'object.team in claim.teams', 'object.level <= claim.level', 'object.open'],
  ...['id startsWith claim.sub', 'object.note == null and object.owner == claim.sub', 'object.team startsWith "a"'],
  ...['object.owner == claim.sub and object.level == claim.level', 'not (object.open == false)', 'object.level != 3'],
]
/** Headers without meaning here, or with another value each time. */
const LEFT_OUT = new Set(['date', 'x-request-id', 'ratelimit', 'ratelimit-policy'])

/** `open` returns a new empty store each time. */
export function testHiddenRows(name: string, open: OpenStore, { seedFirst, seeds, requests }: HiddenRowsOptions): void {
  test.each(Array.from({ length: seeds }, (_, i) => seedFirst + i))(
    `${name}: hidden rows change no answer (seed %i)`,
    seed => compareAnswers(open, seed, requests),
  )
}

async function compareAnswers(open: OpenStore, seed: number, requests: number): Promise<void> {
  const random = createRandom(seed)
  const text = randomRules(random, CONDITIONS[seed % CONDITIONS.length]!)
  const rules = new AccessRules(parseRules(text).rules!)
  const stores = [await open(), await open()] as const
  const scenes: Scene[] = []
  const indexes = randomIndexes(random)
  for (const store of stores) scenes.push(await startScene(store, text, indexes))
  try {
    const ids = await fill(random, rules, stores)
    const tokens = await Promise.all(CALLERS.map(claims => (claims === undefined ? {} : bearer(claims))))
    for (let i = 0; i < requests; i++) {
      const last = (await stores[0].position()) - scenes[0]!.base
      const asked = createRequest({ random, bucket: BUCKET, ids, positions: { first: 1, last } })
      const headers = random.pick(tokens)
      await follow(scenes, { ...asked, headers: { ...asked.headers, ...headers } }, `seed ${seed}: ${text}`)
    }
    for (const id of ids) {
      const asked = {
        method: random.pick(['GET', 'DELETE']),
        path: `/db/${BUCKET}/${id}`,
        headers: random.pick(tokens),
      }
      await follow(scenes, asked, `seed ${seed}: ${text}`)
    }
  } finally {
    for (const { server } of scenes) await server.stop()
    for (const store of stores) await store.close()
  }
}

function randomRules(random: Random, first: string): string {
  const conditions = [first, ...(random.chance(0.5) ? [random.pick(CONDITIONS)] : [])]
  const lines = conditions.map(condition => `  read, delete if ${condition}`)
  return `bucket ${BUCKET}\n  list${random.chance(0.3) ? ' if authenticated' : ''}\n${lines.join('\n')}\n`
}

function randomIndexes(random: Random): readonly (readonly string[])[] {
  const made = [['owner'], ['team'], ['level'], ['open'], ['owner', 'level'], ['owner', 'note'], ['note', 'owner']]
  return made.filter(() => random.chance(0.6))
}

async function startScene(store: Store, rules: string, indexes: readonly (readonly string[])[]): Promise<Scene> {
  const server = await startServer({ store, access: { rules, tokens: TOKENS } })
  const declared = indexes.map(fields => ({ name: fields.join('-'), fields }))
  const body = Buffer.from(JSON.stringify({ kind: 'object', ...(declared.length > 0 ? { indexes: declared } : {}) }))
  const settings = { key: BUCKET, contentType: 'application/json', body }
  // The same secret for both, so that cursors can be compared.
  const secret = { key: CURSOR_KEY, contentType: 'application/octet-stream', body: Buffer.alloc(32, 7) }
  const isIndexed = declared.length > 0
  await store.commit({ writes: [isIndexed ? { ...settings, indexes: declared } : settings, secret] })
  if (isIndexed) await until(async () => (await store.indexes(BUCKET)).every(({ isReady }) => isReady))
  return { server, base: await store.position() }
}

/** Returns the ids of all rows that ever existed, and of some that never did. */
async function fill(random: Random, rules: AccessRules, stores: readonly Store[]): Promise<readonly string[]> {
  const isHidden = (id: string, object: object) =>
    CALLERS.every(claims => !rules.allows('read', claims, `${BUCKET}/${id}`, { object }))
  const hidden: Write[] = []
  const visible: Write[] = []
  const rowIds = Array.from(
    { length: ROWS },
    (_, i) => `${random.pick(['ann-', 'bob-', 'r'])}${`${i}`.padStart(2, '0')}`,
  )
  // A row is hidden or visible for its whole life.
  const isOfHidden = new Map(rowIds.map(id => [id, random.chance(0.5)]))
  for (let tries = 0; hidden.length + visible.length < WRITES && tries < 20 * WRITES; tries++) {
    const id = random.pick(rowIds)
    const object = randomRow(random)
    if (isHidden(id, object) !== isOfHidden.get(id)) continue
    const key = `${BUCKET}/${id}`
    const put = { key, contentType: 'application/json', body: Buffer.from(JSON.stringify(object)) }
    ;(isOfHidden.get(id) ? hidden : visible).push(random.chance(0.1) ? { key, delete: true } : put)
  }
  const elsewhere = { key: 'other/things/1', contentType: 'application/json', body: Buffer.from('{}') }
  const order = [...visible, ...hidden.map(() => undefined)].sort(() => random.below(3) - 1)
  for (const write of order) {
    const writes = stores.map(
      () => write ?? (random.chance(0.3) || hidden.length === 0 ? elsewhere : random.pick(hidden)),
    )
    await Promise.all(stores.map((store, i) => store.commit({ writes: [writes[i]!] })))
  }
  return [...rowIds, 'ann-absent', 'absent', 'zoe']
}

function randomRow(random: Random): object {
  return Object.fromEntries(FIELDS.filter(() => random.chance(0.8)).map(field => [field, random.pick(VALUES)]))
}

/** Sends the request to both servers, and continues as long as there are pages. */
async function follow(scenes: readonly Scene[], asked: AskedRequest, about: string): Promise<void> {
  // The version of the rules is a position, and is sealed with a cursor.
  const areAlike = scenes.every(({ base }) => base === scenes[0]!.base)
  let paths = scenes.map(() => asked.path)
  for (let pages = 0; pages < 4; pages++) {
    const answers = await Promise.all(scenes.map((scene, i) => ask(scene, { ...asked, path: paths[i]! })))
    const [first, second] = areAlike ? answers : answers.map(withoutCursor)
    expect({ about, pages, asked, answer: second }).toEqual({ about, pages, asked, answer: first })
    const cursors = answers.map(({ body }) => CURSOR.exec(body)?.[1])
    if (cursors.includes(undefined) || asked.method !== 'GET') return
    paths = cursors.map(next => asked.path.replace('?', `?after=${encodeURIComponent(next!)}&`))
  }
}

const CURSOR = /"next":"([^"]*)"/

/** Replaces the cursor by its length. */
function withoutCursor(answer: Received): Received {
  return { ...answer, body: answer.body.replace(CURSOR, (_, cursor: string) => `"next":${cursor.length}`) }
}

interface Received {
  readonly status: number
  readonly headers: object
  readonly body: string
}

async function ask({ server, base }: Scene, { method, path, body, headers }: AskedRequest): Promise<Received> {
  const moved = (text: string) => moveUp(text, base)
  const answer = await server.fetch(
    path.replace(/\bat=([0-9]+)/, (_, at) => `at=${base + Number(at)}`),
    {
      method,
      headers: { 'content-type': 'application/json', ...withVersions(headers ?? {}, base) },
      ...(body === undefined
        ? {}
        : { body: JSON.stringify(body, (name, value) => (name === 'version' && value > 0 ? base + value : value)) }),
    },
  )
  // The id of the request makes the body of an error longer or shorter.
  const leftOut = answer.ok ? LEFT_OUT : new Set([...LEFT_OUT, 'content-length'])
  const compared = [...answer.headers].filter(([name]) => !leftOut.has(name))
  return {
    status: answer.status,
    headers: Object.fromEntries(compared.map(([name, value]) => [name, moved(value)])),
    body: moved(await answer.text()).replace(/,"requestId":"[^"]*"/, ''),
  }
}

function withVersions(headers: Readonly<Record<string, string>>, base: number): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      value.replace(/^"([1-9][0-9]*)"$/, (_, n) => `"${base + Number(n)}"`),
    ]),
  )
}

/** Makes positions relative to the base, since the positions of a store may begin anywhere. */
function moveUp(text: string, base: number): string {
  return text.replace(/(?<![0-9a-zA-Z_.-])[0-9]+(?![0-9a-zA-Z_-]|\.[0-9])/g, digits => {
    const number = Number(digits)
    return number > base - 10 && number < base + 10_000 ? `p${number - base}` : digits
  })
}
