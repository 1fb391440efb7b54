import { decodeSegmentBundle, parseSeed, Session, unpackChanges } from '@freshet/core/coherence'
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { type CoherenceHead, type CoherenceNews, FreshetError } from '@freshet/protocol'
import { describe, expect, test, vi } from 'vitest'
import type { ServerSettings } from '../../settings/server-settings.js'
import { answeringLater, tellingNothing, withMethods } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, until } from '../../testing/running-server.js'
import { serversPerTest } from '../../testing/servers-per-test.js'

const startServer = serversPerTest()
const start = (store: Store, settings: Partial<ServerSettings> = {}): Promise<RunningServer> =>
  startServer({ store, settings })

async function headOf(running: RunningServer, query = ''): Promise<CoherenceHead> {
  const answer = await running.fetch(`/coherence${query}`)
  expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return (await answer.json()) as CoherenceHead
}

/** A clock that tests set by hand. */
function handClock(): { nowMs: () => number; passMs: (ms: number) => void } {
  let timeMs = 0
  return {
    nowMs: () => timeMs,
    passMs: ms => {
      timeMs += ms
    },
  }
}

describe.each([
  { name: 'at once', wrap: (store: Store) => store },
  { name: 'later', wrap: answeringLater },
])('the head, over a store that answers $name', ({ wrap }) => {
  test('includes every commit acknowledged before the request, also those of another server', async () => {
    const store = wrap(tellingNothing(createMemoryStore({ positionsAfter: 0 })))
    const [one, other] = [await start(store), await start(store)]
    for (let i = 0; i < 30; i++) {
      const { position } = await one.put(`/db/shop/products/${i % 7}`, { i })
      expect((await headOf(other)).position).toBeGreaterThanOrEqual(position)
    }
  })

  test('lists what the reader does not know yet', async () => {
    // No segment is closed during the test.
    const running = await start(wrap(createMemoryStore({ positionsAfter: 0 })), { slotMs: 60_000 })
    const first = await running.put('/db/shop/products/1', {})
    const second = await running.put('/db/shop/products/2', {})
    const session = new Session({ stalenessMs: 0 })
    session.installHead(await headOf(running), undefined, [], 0)
    const third = await running.put('/db/shop/products/3', {})
    const answer = await running.fetch(`/coherence?after=${second.position}&nonce=abc`)
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store'])
    const { news } = (await answer.json()) as CoherenceNews
    expect(session.readNews(news, 'abd')).toBeUndefined()
    const head = session.readNews(news, 'abc')!
    expect(head).toMatchObject({ position: third.position, from: 0, tail: { from: second.position } })
    // The object, and the lists of its bucket.
    expect('changes' in head.tail && unpackChanges(second.position, head.tail.changes).changes).toMatchObject([
      { position: third.position },
      { position: third.position },
    ])
    session.installHead(head, second.position, [], 0)
    const paths = [1, 2, 3, 4].map(id => `/db/shop/products/${id}`)
    const at = [first.position, second.position, third.position, undefined]
    expect(paths.map(path => session.at({ paths: [path] }, 'session'))).toEqual(at)
  })

  test('repeats the nonce of the request, so that a replayed answer is noticed; so does /time', async () => {
    const running = await start(wrap(createMemoryStore({ positionsAfter: 0 })))
    const nonceOf = async (target: string) => ((await (await running.fetch(target)).json()) as CoherenceHead).nonce
    const targets = ['/coherence?nonce=a-1', '/time?nonce=c', '/coherence', '/time']
    expect(await Promise.all(targets.map(nonceOf))).toEqual(['a-1', 'c', undefined, undefined])
  })

  test('waits for the requested position, and refuses one that is not reached', async () => {
    const running = await start(wrap(createMemoryStore({ positionsAfter: 0 })), { positionWaitMsMax: 30_000 })
    const waiting = headOf(running, '?at=1')
    await running.put('/db/shop/products/1', {})
    expect((await waiting).position).toBe(1)
    const impatient = await start(wrap(createMemoryStore({ positionsAfter: 0 })), { positionWaitMsMax: 10 })
    expect(await problemOf(await impatient.fetch('/coherence?at=1'))).toMatchObject({ code: 'POSITION_NOT_REACHED' })
  })
})

describe('the sketch', () => {
  test('is kept in segments that never change, and whose filters contain every changed path', async () => {
    const clock = handClock()
    const running = await start(createMemoryStore({ ...clock, positionsAfter: 0 }), { slotMs: 20 })
    for (let i = 0; i < 10; i++) {
      await running.put(`/db/shop/products/${i}`, {})
      clock.passMs(25)
    }
    const head = await headOf(running)
    expect(head.segments.length).toBeGreaterThan(1)
    const names = head.segments.map(({ from, to }) => `${from}-${to}`).join(',')
    const answer = await running.fetch(`/coherence/segments/${names}`)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=105, immutable')
    const bundle = new Uint8Array(await answer.arrayBuffer())
    const filters = decodeSegmentBundle(bundle, head.segments.length, parseSeed(head.seed)!)
    for (let i = 0; i < 9; i++) expect(filters.some(filter => filter.has(`/db/shop/products/${i}`))).toBe(true)
    expect(filters.some(filter => filter.has('/db/shop/products'))).toBe(true)
  })

  test('can be fetched as one filter, which is not sent again while nothing changes', async () => {
    const running = await start(createMemoryStore({ positionsAfter: 0 }))
    await running.put('/db/shop/products/1', {})
    const answer = await running.fetch('/coherence/filter')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    const again = await running.fetch('/coherence/filter', {
      headers: { 'if-none-match': answer.headers.get('etag')! },
    })
    expect(again.status).toBe(304)
    await running.put('/db/shop/products/1', {})
    const changed = await running.fetch('/coherence/filter', {
      headers: { 'if-none-match': answer.headers.get('etag')! },
    })
    expect(changed.status).toBe(200)
  })

  test('forgets changes older than the window, and the keeper trims the log accordingly', async () => {
    const clock = handClock()
    const store = createMemoryStore({ ...clock, positionsAfter: 0 })
    const settings = { lifetimeMs: 100, responseMsMax: 50, slackMs: 0, slotMs: 10, trimIntervalMs: 10 }
    const running = await start(store, settings)
    await running.put('/db/shop/products/1', {})
    clock.passMs(140)
    await running.put('/db/shop/products/2', {})
    expect((await headOf(running)).from).toBe(0)
    await until(async () => {
      clock.passMs(50)
      return (await headOf(running)).from > 0
    })
    await until(async () => {
      clock.passMs(50)
      return (await store.trimmedTo()) === 2
    })
    await running.put('/db/shop/products/3', {})
    expect(await headOf(running)).toMatchObject({ position: 3, from: 2 })
  })

  test('of a server that is not the keeper leaves the log alone', async () => {
    const clock = handClock()
    const store = createMemoryStore({ ...clock, positionsAfter: 0 })
    const settings = { lifetimeMs: 10, responseMsMax: 10, slackMs: 0, slotMs: 5, trimIntervalMs: 5, mayKeep: false }
    const running = await start(store, settings)
    await running.put('/db/shop/products/1', {})
    await until(async () => {
      clock.passMs(50)
      return (await headOf(running)).from > 0
    })
    expect(await store.trimmedTo()).toBe(0)
  })

  test('starts over when the log was trimmed without its knowledge', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const running = await start(store, { slotMs: 60_000 })
    await running.put('/db/shop/products/1', {})
    await running.stop()
    const late = await start(answeringLater(store), { slotMs: 60_000 })
    for (let i = 0; i < 5; i++) {
      await store.commit({
        writes: [{ key: `shop/products/${i}`, contentType: 'application/json', body: new Uint8Array([123, 125]) }],
      })
    }
    await store.trim(4)
    const head = await headOf(late)
    expect(head.position).toBe(6)
  })
})

describe('the window', () => {
  const settings = { lifetimeMs: 1000, lifetimeMsMax: 100_000, responseMsMax: 100, slackMs: 10 }

  test('is as long as the longest lifetime of any bucket, on every server, at once', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const [one, other] = [await start(store, settings), await start(store, settings)]
    expect((await headOf(other)).windowMs).toBe(1110)
    await one.put('/db/shop/products', { kind: 'object', lifetimeMs: 60_000 })
    expect((await headOf(other)).windowMs).toBe(60_110)
    // An answer that takes longer than responseMsMax is not sent.
    const list = await vi.waitFor(() => other.fetch('/db/shop/products'), { timeout: 30_000 })
    expect(list.headers.get('cache-control')).toContain('max-age=60,')
  })

  test('stays long until the last copy with a lowered lifetime has expired, also across a restart', async () => {
    const clock = handClock()
    const store = createMemoryStore({ ...clock, positionsAfter: 0 })
    const one = await start(store, settings)
    await one.put('/db/shop/products', { kind: 'object', lifetimeMs: 60_000 })
    await one.put('/db/shop/products', { kind: 'object', lifetimeMs: 2000 })
    expect((await headOf(one)).windowMs).toBe(60_110)
    await one.stop()
    clock.passMs(50_000)
    const restarted = await start(store, { ...settings, slotMs: 5 })
    expect((await headOf(restarted)).windowMs).toBe(60_110)
    clock.passMs(20_000)
    await until(async () => (await headOf(restarted)).windowMs === 2110)
  })

  test.each([
    ['is lowered', (server: RunningServer) => server.put('/db/shop/products', { kind: 'object', lifetimeMs: 500 })],
    ['ends with its bucket', (server: RunningServer) => server.fetch('/db/shop/products', { method: 'DELETE' })],
  ])('covers a lifetime that %s, counted from the commit, however long the commit took', async (_, shorten) => {
    const clock = handClock()
    const memory = createMemoryStore({ ...clock, positionsAfter: 0 })
    let stallMs = 0
    const store = withMethods(memory, {
      commit: commit => {
        if (commit.writes.some(({ key }) => key === 'shop/products')) clock.passMs(stallMs)
        return memory.commit(commit)
      },
    })
    const servers = [await start(store, settings), await start(store, settings)]
    await servers[0]!.put('/db/shop/products', { kind: 'object', lifetimeMs: 60_000 })
    stallMs = 75_000
    await shorten(servers[0]!)
    for (const server of servers) {
      await until(
        async () => !(await server.fetch('/db/shop/products')).headers.get('cache-control')?.includes('max-age=60,'),
      )
    }
    // A copy that a server sent just before the commit lives for 60 s.
    clock.passMs(50_000)
    for (const server of [...servers, await start(store, settings)]) {
      expect((await headOf(server)).windowMs).toBe(60_110)
    }
    clock.passMs(20_000)
    const late = await start(store, { ...settings, slotMs: 5 })
    await until(async () => (await headOf(late)).windowMs === 1110)
  })

  test('remembers the default lifetime of an earlier run, since its copies may still be alive', async () => {
    const clock = handClock()
    const store = createMemoryStore({ ...clock, positionsAfter: 0 })
    await (await start(store, { ...settings, lifetimeMs: 30_000 })).stop()
    const restarted = await start(store, { ...settings, slotMs: 5 })
    expect((await headOf(restarted)).windowMs).toBe(30_110)
    clock.passMs(40_000)
    await until(async () => (await headOf(restarted)).windowMs === 1110)
  })

  test('is extended on disk before a longer default lifetime is sent', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const remembered: string[] = []
    const slow = new Proxy(store, {
      get(target, name) {
        const member = Reflect.get(target, name, target)
        if (name !== 'remember') return typeof member === 'function' ? member.bind(target) : member
        return async (key: string, value: Uint8Array) => {
          await new Promise(resolve => setTimeout(resolve, 30))
          if (key === 'lifetimes') remembered.push(new TextDecoder().decode(value))
          await target.remember(key, value)
        }
      },
    })
    const running = await start(slow, { ...settings, lifetimeMs: 5000 })
    expect(remembered).toContain('[5000]')
    expect((await headOf(running)).windowMs).toBe(5110)
  })
})

describe('waiting for a position', () => {
  test('ends with the commit', async () => {
    const running = await start(createMemoryStore({ positionsAfter: 0 }), { positionWaitMsMax: 30_000 })
    await running.put('/db/shop/products/1', { n: 1 })
    const waiting = running.fetch('/db/shop/products/1?at=2')
    await new Promise(resolve => setTimeout(resolve, 20))
    await running.put('/db/shop/products/1', { n: 2 })
    expect(await (await waiting).json()).toEqual({ n: 2 })
  })

  test('is refused when too many wait', async () => {
    const running = await start(createMemoryStore({ positionsAfter: 0 }), {
      // Long enough for all requests to arrive while the first still wait.
      positionWaitMsMax: 3000,
      positionWaitersMax: 3,
    })
    const answers = await Promise.all(Array.from({ length: 6 }, () => running.fetch('/db/shop/products/1?at=9')))
    const codes = await Promise.all(answers.map(async answer => (await problemOf(answer)).code))
    expect(codes.filter(code => code === 'SERVER_BUSY')).toHaveLength(3)
    expect(codes.filter(code => code === 'POSITION_NOT_REACHED')).toHaveLength(3)
    for (const answer of answers) expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

test('a position without a commit is reached, too', async () => {
  const store = createMemoryStore({ positionsAfter: 0 })
  // As after a crash: some positions were skipped.
  const skipping = withMethods(store, {
    position: () => Promise.resolve(store.position()).then(position => position + 7),
  })
  const running = await start(skipping)
  await running.put('/db/shop/products/1', {})
  expect((await headOf(running)).position).toBe(8)
})

test('the next read knows a bucket that another server has changed', async () => {
  const store = tellingNothing(createMemoryStore({ positionsAfter: 0 }))
  const [one, other] = [await start(store), await start(store)]
  await one.put('/db/shop/products/1', {})
  for (const seconds of [5, 50, 7]) {
    await other.fetch('/db/shop/products', jsonRequest('PUT', { kind: 'object', lifetimeMs: seconds * 1000 }))
    const answer = await one.fetch('/db/shop/products/1')
    expect(answer.headers.get('cache-control')).toContain(`max-age=${seconds},`)
  }
})

test("a head belongs to one log: the store's new log is reported together with its sketch", async () => {
  const store = createMemoryStore()
  const own = store.log
  let isTrimmed = false
  const met = { log: own }
  const odd = withMethods(store, {
    get log() {
      return met.log
    },
    changes: (after, limit) => {
      if (!isTrimmed) return store.changes(after, limit)
      isTrimmed = false
      throw new FreshetError('LOG_TRIMMED', 'The log has started over.')
    },
  })
  const running = await start(odd)
  // The store has noticed the new log through another request.
  met.log = 'another'
  expect(await headOf(running)).toMatchObject({ log: own })
  isTrimmed = true
  await running.fetch('/db/a/b/c', jsonRequest('PUT', { n: 1 }))
  expect(await headOf(running)).toMatchObject({ log: 'another' })
})
