import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../connect.js'
import type { Database } from '../database.js'
import { FakeOrigin } from '../testing/fake-origin.js'

interface Scene {
  readonly origin: FakeOrigin
  readonly db: Database
  readonly streams: ReadableStreamDefaultController<Uint8Array>[]
  say(event: string, data: unknown): void
  heads(): number
}

async function scene(): Promise<Scene> {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  const streams: ReadableStreamDefaultController<Uint8Array>[] = []
  origin.script = ({ target }) => {
    if (!target.startsWith('/coherence/events')) return undefined
    return new Response(new ReadableStream<Uint8Array>({ start: controller => void streams.push(controller) }))
  }
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock, refresh: 'push', staleness: 1000, random: () => 0 })
  await vi.waitUntil(() => streams.length === 1)
  origin.sent.length = 0
  const say = (event: string, data: unknown) =>
    streams.at(-1)!.enqueue(new TextEncoder().encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
  return { origin, db, streams, say, heads: () => origin.count('/coherence?') }
}

/** What the server would push of a write by somebody else. */
async function changesSince(origin: FakeOrigin, after: number): Promise<Record<string, unknown>> {
  const head = await (await origin.fetch(`${origin.url}/coherence?after=${after}`, {})).json()
  origin.sent.pop()
  return { from: after, to: head.position, timeMs: origin.nowMs, changes: head.tail.changes }
}

function beat({ origin: { log, position, nowMs: timeMs }, say }: Scene): void {
  say('heartbeat', { log, position, timeMs })
}

let current: Scene | undefined
beforeEach(async () => {
  current = await scene()
})
afterEach(() => current?.db.close())

describe('pushed', () => {
  test('changes are known at once, and no head is asked for', async () => {
    const { origin, db, say, heads } = current!
    beat(current!)
    const position = origin.put('shop/products/1', { price: 2 })
    say('changes', await changesSince(origin, position - 1))
    await vi.waitUntil(() => db.session.position === position)
    expect(await db.bucket('shop/products').get('1')).toEqual({ price: 2 })
    expect(heads()).toBe(0)
  })

  test('changes wait for the heartbeat that says of which log they are', async () => {
    const { origin, db, say } = current!
    const before = db.session.position
    const position = origin.put('shop/products/1', { price: 2 })
    say('changes', await changesSince(origin, before))
    await new Promise(resolve => setTimeout(resolve, 5))
    expect(db.session.position).toBe(before)
    beat(current!)
    await vi.waitUntil(() => db.session.position === position)
  })

  test('heartbeats keep the sketch fresh', async () => {
    const { origin, db, heads } = current!
    for (let i = 0; i < 5; i++) {
      origin.nowMs += 900
      beat(current!)
      await new Promise(resolve => setTimeout(resolve, 2))
      await db.bucket('shop/products').get('1')
    }
    expect(heads()).toBe(0)
  })

  test('a heartbeat that was long on its way makes nothing fresh', async () => {
    const { origin, db, say, heads } = current!
    const madeAtMs = origin.nowMs
    origin.nowMs += 5000
    say('heartbeat', { log: origin.log, position: origin.position, timeMs: madeAtMs })
    await new Promise(resolve => setTimeout(resolve, 2))
    await db.bucket('shop/products').get('1')
    expect(heads()).toBe(1)
  })

  test.each([
    ['a gap', 'gap', (origin: FakeOrigin) => ({ position: origin.position, timeMs: origin.nowMs })],
    ['changes that do not join on', 'changes', () => ({ from: 7, to: 8, timeMs: 0, changes: [] })],
    ['a heartbeat further on', 'heartbeat', ({ log }: FakeOrigin) => ({ log, position: 9, timeMs: 0 })],
    ['a heartbeat of another log', 'heartbeat', () => ({ log: 'other', position: 0, timeMs: 0 })],
  ])('%s is made up for by a head', async (_, event, data) => {
    const { origin, db, say, heads } = current!
    beat(current!)
    const position = origin.put('shop/products/2', {})
    say(event, data(origin))
    await vi.waitUntil(() => db.session.position === position)
    expect(heads()).toBe(1)
  })
})

describe('a stream that ends', () => {
  test('is opened again where it was left, and heads are asked for meanwhile', async () => {
    const { origin, db, streams, heads } = current!
    const position = origin.put('shop/products/2', {})
    streams[0]!.close()
    await vi.waitUntil(() => streams.length === 2, { timeout: 5000 })
    expect(heads()).toBeGreaterThan(0)
    expect(db.session.position).toBe(position)
    expect(origin.sent.some(({ target }) => target === `/coherence/events?after=${position}`)).toBe(true)
  })

  test('is not opened again once the connection is closed', async () => {
    const { origin, db, streams } = current!
    db.close()
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(streams).toHaveLength(1)
    expect(origin.sent).toEqual([])
  })
})

describe('polled', () => {
  test('changes are known without a read that asks for them, while somebody reads', async () => {
    const origin = new FakeOrigin()
    const { url, fetch, clock } = origin
    const db = await connect(url, { fetch, clock, refresh: 'poll', staleness: 50 })
    await db.bucket('shop/products').get('1', { read: 'any' })
    const position = origin.put('shop/products/1', {})
    await vi.waitUntil(() => db.session.position === position)
    origin.nowMs += 60_000
    await new Promise(resolve => setTimeout(resolve, 50))
    origin.sent.length = 0
    await new Promise(resolve => setTimeout(resolve, 150))
    expect(origin.sent).toEqual([])
    db.close()
  })
})
