import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { answeringLater } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '../../testing/running-server.js'

const SECOND = 1000
const HOUR = 3600 * SECOND
const LEARN = { minMs: 2 * SECOND, maxMs: 12 * HOUR }

let nowMs = 0
let store: Store
let running: RunningServer

beforeEach(async () => {
  nowMs = 0
  store = createMemoryStore({ nowMs: () => nowMs })
  running = await startServer({ store })
  await running.put('/db/shop/learnt', { kind: 'object', learn: LEARN })
})
afterEach(() => running.stop())

async function maxAge(path: string, server = running): Promise<number> {
  const answer = await server.fetch(path)
  expect(answer.status).toBe(200)
  return Number(/max-age=(\d+)/.exec(answer.headers.get('cache-control')!)![1])
}

async function writeEvery(gapMs: number, times: number, path = '/db/shop/learnt/a'): Promise<number> {
  let version = 0
  for (let n = 0; n < times; n++) {
    nowMs += gapMs
    version = (await running.put(path, { n })).version
  }
  return version
}

describe('in a bucket that learns lifetimes', () => {
  test('objects that are written often get short lifetimes, others long ones, within the bounds', async () => {
    await writeEvery(30 * SECOND, 20)
    expect(await maxAge('/db/shop/learnt/a')).toBe(6)
    await writeEvery(5 * SECOND, 20)
    expect(await maxAge('/db/shop/learnt/a')).toBe(2)
    await writeEvery(10 * HOUR, 30, '/db/shop/learnt/b')
    expect(await maxAge('/db/shop/learnt/b')).toBe(7200)
    nowMs += 1000 * HOUR
    await until(async () => (await maxAge('/db/shop/learnt/b')) === 12 * 3600)
  })

  test('a copy under ?at= gets the longest lifetime', async () => {
    const version = await writeEvery(5 * SECOND, 20)
    expect(await maxAge(`/db/shop/learnt/a?at=${version}`)).toBe(12 * 3600)
    expect(await maxAge('/db/shop/learnt/a')).toBe(2)
    expect(await maxAge(`/db/shop/learnt/a?at=${version}`)).toBe(12 * 3600)
  })

  test('a lifetime grows while nothing is written, even if the object is read all the time', async () => {
    await writeEvery(SECOND, 3)
    expect(await maxAge('/db/shop/learnt/a')).toBe(2)
    nowMs += HOUR
    await until(async () => (await maxAge('/db/shop/learnt/a')) === 720)
  })

  test('a revalidation returns the lifetime as it is now', async () => {
    const version = await writeEvery(SECOND, 3)
    nowMs += 10 * HOUR
    const unchanged = await running.fetch('/db/shop/learnt/a', { headers: { 'if-none-match': `"${version}"` } })
    expect([unchanged.status, unchanged.headers.get('cache-control')]).toEqual([
      304,
      expect.stringContaining('max-age=7200,'),
    ])
  })

  test('the lifetimes of lists follow the writes to their bucket', async () => {
    for (let n = 0; n < 20; n++) await writeEvery(30 * SECOND, 1, `/db/shop/learnt/p${n}`)
    expect(await maxAge('/db/shop/learnt')).toBe(6)
    expect(await maxAge('/db/shop/learnt?ids=p1,p2')).toBe(2)
    nowMs += 10 * HOUR
    expect(await maxAge('/db/shop/learnt')).toBe(7200)
  })

  test('another server, and one over a store that answers later, learn the same from the log', async () => {
    await writeEvery(100 * SECOND, 20)
    const others = [await startServer({ store }), await startServer({ store: answeringLater(store) })]
    for (const other of [running, ...others]) expect(await maxAge('/db/shop/learnt/a', other)).toBe(20)
    for (const other of others) await other.stop()
  })

  test('after a restart, objects older than the log count as old', async () => {
    await writeEvery(SECOND, 2)
    nowMs += 100 * HOUR
    await store.trim((await store.changes(await store.trimmedTo())).at(-1)!.position)
    const other = await startServer({ store })
    expect(await maxAge('/db/shop/learnt/a', other)).toBe(6 * 3600)
    await other.stop()
  })

  test('the window covers the longest lifetime, and earlier, wider bounds', async () => {
    const windowMs = async () => {
      const head = (await (await running.fetch('/coherence?nonce=1')).json()) as { windowMs: number }
      return head.windowMs
    }
    await until(async () => (await windowMs()) >= LEARN.maxMs)
    await running.put('/db/shop/learnt', { kind: 'object', learn: { minMs: 0, maxMs: SECOND } })
    nowMs += LEARN.maxMs / 2
    expect(await windowMs()).toBeGreaterThanOrEqual(LEARN.maxMs)
  })

  test('other buckets keep their fixed lifetimes', async () => {
    await running.put('/db/shop/fixed', { kind: 'object', lifetimeMs: 90 * SECOND })
    await writeEvery(SECOND, 5, '/db/shop/fixed/a')
    await writeEvery(SECOND, 5, '/db/shop/none/a')
    expect([await maxAge('/db/shop/fixed/a'), await maxAge('/db/shop/none/a')]).toEqual([90, 60])
  })

  test('learning can be turned on, read and turned off', async () => {
    const settings = await running.fetch('/db/shop/learnt?settings')
    expect(await settings.json()).toEqual({ kind: 'object', learn: LEARN })
    await writeEvery(SECOND, 5)
    await running.put('/db/shop/learnt', { kind: 'object', lifetimeMs: 7 * SECOND })
    expect(await maxAge('/db/shop/learnt/a')).toBe(7)
    const refused = await running.fetch(
      '/db/shop/learnt',
      jsonRequest('PUT', { kind: 'object', learn: { minMs: 5, maxMs: 1 } }),
    )
    expect(await problemOf(refused)).toMatchObject({ status: 400, code: 'BODY_INVALID' })
  })
})
