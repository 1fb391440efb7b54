/** Plain reads under rules take a short path (`http/plain-read.ts`). Their answers must match the router's, byte for byte. */
import { createRandom } from '@freshet/core/store/conformance'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { jsonRequest, openSocket, type RunningServer, startServer } from '../testing/running-server.js'
import { bearer, TOKENS } from './under-test/bearer.js'

const OPEN = `admin if claim.role == "admin"
bucket shop/open
  read
bucket shop/members
  read if authenticated
bucket shop/rows
  read if object.owner == claim.sub
bucket shop/posts
  read if object.published or object.owner == claim.sub
bucket shop/ids
  read if id startsWith claim.sub
`
const RULES = [
  OPEN,
  OPEN.replace('read if authenticated', 'read if claim.level > 1'),
  OPEN.replace(
    'read if object.owner == claim.sub\nbucket shop/posts',
    'read if object.team in claim.teams\nbucket shop/posts',
  ),
  OPEN.replace('shop/open\n  read\n', 'shop/open\n  read if object.published == true\n'),
  `wall claim.tenants\n${OPEN}`,
  `quota shop requests 1000000 per day\n${OPEN}`,
]
const BUCKETS = ['open', 'members', 'rows', 'posts', 'ids', 'none']
const IDS = ['ann-1', 'bob-1', 'shared', 'absent']
const OBJECTS: Readonly<Record<string, object>> = {
  'ann-1': { owner: 'ann', team: 'a', published: false, text: 'Büroklammer ☂' },
  'bob-1': { owner: 'bob', team: 'b', published: true },
  shared: { owner: 'ann', team: 'b', published: true, text: 'x'.repeat(2000) },
}

let running: RunningServer
afterEach(async () => {
  vi.useRealTimers()
  await running.stop()
})

async function start(options: object = {}): Promise<Record<string, string>> {
  running = await startServer({ store: createMemoryStore(), access: { rules: OPEN, tokens: TOKENS }, ...options })
  const admin = await bearer({ sub: 'root', role: 'admin' })
  for (const bucket of BUCKETS) {
    for (const [id, object] of Object.entries(OBJECTS)) await running.put(`/db/shop/${bucket}/${id}`, object, admin)
  }
  return admin
}

async function change(admin: Record<string, string>, rules: string): Promise<void> {
  const { version } = (await (await running.fetch('/access', { headers: admin })).json()) as { version: number }
  const answer = await running.fetch('/access', jsonRequest('PUT', { rules, ifVersion: version, widen: true }, admin))
  if (!answer.ok) throw new Error(await answer.text())
}

/** Everything that comes back on a connection that stays open, without what differs from one request to the next. */
async function ask(path: string, headers: readonly string[]): Promise<string> {
  const socket = await openSocket(running.port)
  try {
    socket.write(`GET ${path} HTTP/1.1\r\n${headers.map(line => `${line}\r\n`).join('')}\r\n`)
    let received = ''
    for await (const chunk of socket.setEncoding('latin1') as AsyncIterable<string>) {
      received += chunk
      const end = received.indexOf('\r\n\r\n')
      const length = Number(/^content-length: (\d+)/im.exec(received)?.[1] ?? 0)
      if (end !== -1 && received.length >= end + 4 + length) break
    }
    return received
      .replace(/^(Date|X-Request-Id): .*\r\n/gm, '')
      .replace(/^Content-Length: .*\r\n(?=[\s\S]*"requestId")/m, '')
      .replace(/,"requestId":"[^"]*"/, '')
  } finally {
    socket.destroy()
  }
}

/** Takes the short path twice: the second time, the server has cached the token and the object. */
async function expectAlike(path: string, headers: readonly string[]): Promise<string> {
  const all = ['Host: localhost', ...headers]
  // A request with a Content-Length is never a plain read.
  const routed = await ask(path, [...all, 'Content-Length: 0'])
  for (let i = 0; i < 2; i++) {
    const plain = await ask(path, all)
    expect({ path, headers, answer: plain }).toEqual({ path, headers, answer: routed })
  }
  // Node prints the headers of an answer that ends its connection; other answers are sent as one prepared text.
  const printed = await ask(path, [...all, 'Connection: close'])
  expect(withoutConnection(printed)).toBe(withoutConnection(routed))
  return routed
}

function withoutConnection(answer: string): string {
  return answer.replace(/^(Connection|Keep-Alive): .*\r\n/gm, '')
}

async function lineOf(claims: object): Promise<string> {
  return `Authorization: ${(await bearer({ ...claims })).authorization}`
}

describe('a plain read under rules', () => {
  test('is answered as the router answers it, for every caller and target, also after changes of rules and objects', async () => {
    const admin = await start()
    const random = createRandom(4)
    const good = await lineOf({ sub: 'ann', teams: ['b'], tenants: 'shop' })
    const believed = [[], [good], [await lineOf({ sub: 'bob', level: 2 })], [await lineOf({ role: 'admin' })]]
    const refused = [
      ...[[good, good], [good.slice(0, -3)], ['Authorization: Basic YTpi'], [good.replace('Bearer', 'bearer ')]],
      ...[['Authorization:'], [good, 'Authorization: Basic YTpi']],
    ]
    const statuses = new Set<string>()
    for (let i = 0; i < 250; i++) {
      if (i % 20 === 19) await change(admin, random.pick(RULES))
      const id = random.pick(IDS)
      const bucket = random.pick(BUCKETS)
      if (random.chance(0.1) && id !== 'absent') {
        await running.put(`/db/shop/${bucket}/${id}`, { ...OBJECTS[id], owner: random.pick(['ann', 'bob']) }, admin)
      }
      const position = await running.store.position()
      const found = await running.store.get(`shop/${bucket}/${id}`)
      const more = random.pick([
        ...[[], [], ['Accept-Encoding: gzip'], [`If-None-Match: "${found?.version ?? 1}"`]],
        ...[['If-None-Match: *'], ['If-None-Match: "1", "2"'], ['Origin: https://shop.example']],
      ])
      const query = random.pick(['', '', `?at=${position}`, `?at=${position - 1}`])
      // A plain read gives everybody what everybody may read, whatever their token.
      const caller = random.pick(bucket === 'open' || random.chance(0.6) ? believed : refused)
      const answer = await expectAlike(`/db/shop/${bucket}/${id}${query}`, [...caller, ...more])
      statuses.add(answer.slice(9, 12))
    }
    expect([...statuses].sort()).toEqual(['200', '304', '401', '403', '404'])
  }, 60_000)

  test('is kept by no cache if not everybody may read it, also when the server answers from memory', async () => {
    const admin = await start()
    const ann = await lineOf({ sub: 'ann' })
    for (const path of ['/db/shop/members/ann-1', '/db/shop/rows/ann-1', '/db/shop/posts/ann-1']) {
      expect(await expectAlike(path, [ann])).toMatch(/^Cache-Control: private, no-store\r$/m)
    }
    expect(await expectAlike('/db/shop/posts/bob-1', [ann])).toMatch(/^Cache-Control: public/m)
    await change(admin, OPEN.replace('read if authenticated', 'read'))
    expect(await expectAlike('/db/shop/members/ann-1', [ann])).toMatch(/^Cache-Control: public/m)
    await change(admin, OPEN)
    expect(await expectAlike('/db/shop/members/ann-1', [ann])).toMatch(/^Cache-Control: private, no-store\r$/m)
    expect(await expectAlike('/db/shop/members/ann-1', [])).toMatch(/^HTTP\/1.1 401/)
  })

  test('is judged by the new rules from the moment their change is acknowledged', async () => {
    const admin = await start()
    const ann = await bearer({ sub: 'ann' })
    const read = async () => (await running.fetch('/db/shop/members/ann-1', { headers: ann })).status
    for (let i = 0; i < 10; i++) {
      expect(await read()).toBe(200)
      await change(admin, OPEN.replace('read if authenticated', 'read if claim.sub == "bob"'))
      expect(await read()).toBe(403)
      await change(admin, OPEN)
    }
  })

  test('is refused from the moment its token expires, however often the token was accepted', async () => {
    await start()
    const headers = await bearer({ sub: 'ann' })
    const read = async () => (await running.fetch('/db/shop/members/ann-1', { headers })).status
    for (let i = 0; i < 3; i++) expect(await read()).toBe(200)
    const { exp } = JSON.parse(Buffer.from(headers.authorization!.split('.')[1]!, 'base64url').toString()) as {
      exp: number
    }
    vi.useFakeTimers({ toFake: ['Date'], now: exp * 1000 - 1 })
    expect(await read()).toBe(200)
    vi.setSystemTime(exp * 1000)
    expect(await read()).toBe(401)
    expect(await read()).toBe(401)
  })

  test('is refused if its Host does not name a host', async () => {
    await start()
    const ann = await lineOf({ sub: 'ann' })
    await expectAlike('/db/shop/members/ann-1', [ann])
    expect(await ask('/db/shop/members/ann-1', ['Host: a b', ann])).toMatch(/^HTTP\/1.1 400[\s\S]*HEADER_INVALID/)
  })

  test('counts towards the limit of its subject, and says how many requests are left', async () => {
    await start({ limits: { perAddressPerS: 0, perSubjectPerS: 1, burstS: 30 } })
    const ann = await lineOf({ sub: 'ann' })
    const leftOf = async () => {
      const answer = await ask('/db/shop/members/ann-1', ['Host: localhost', ann])
      return Number(/^RateLimit: "subject";r=(\d+)/m.exec(answer)?.[1])
    }
    const first = await leftOf()
    await leftOf()
    expect(await leftOf()).toBeLessThan(first)
  })

  test('counts towards the quota of its namespace', async () => {
    const admin = await start()
    await change(admin, `quota shop requests 3 per day\n${OPEN}`)
    const ann = await bearer({ sub: 'ann' })
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await running.fetch('/db/shop/rows/ann-1', { headers: ann })).status)
    expect(statuses).toEqual([200, 200, 200, 403, 403])
  })
})
