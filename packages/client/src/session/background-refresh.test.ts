import { EVENT_TIME_MS, formatEvent, packChanges } from '@freshet/core/coherence'
import type { ChangesEvent, StreamStart } from '@freshet/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../connect.js'
import type { Database } from '../database.js'
import { FakeOrigin } from '../testing/fake-origin.js'

interface Scene {
  readonly origin: FakeOrigin
  readonly db: Database
  readonly streams: ReadableStreamDefaultController<Uint8Array>[]
  /** Sends the event that starts, or restarts, a stream. */
  start(event: ChangesEvent, more?: Partial<StreamStart>): void
  /** Sends the next event. */
  say(event: ChangesEvent): void
  heads(): number
}

async function scene(): Promise<Scene> {
  const origin = new FakeOrigin()
  origin.put('shop/products/1', { price: 1 })
  const streams: ReadableStreamDefaultController<Uint8Array>[] = []
  let nonce = ''
  origin.script = ({ target }) => {
    if (!target.startsWith('/coherence/events')) return undefined
    nonce = new URL(target, url).searchParams.get('nonce')!
    return new Response(new ReadableStream<Uint8Array>({ start: controller => void streams.push(controller) }))
  }
  const { url, fetch, clock } = origin
  const db = await connect(url, { fetch, clock, refresh: 'push', staleness: 1000, random: () => 0 })
  await vi.waitUntil(() => streams.length === 1, { timeout: 30_000 })
  origin.sent.length = 0
  let saidMs = 0
  const send = (text: string, { askedMs }: ChangesEvent) => {
    saidMs = askedMs
    streams.at(-1)!.enqueue(new TextEncoder().encode(text))
  }
  return {
    origin,
    db,
    streams,
    start: (event, more) => {
      const start = { log: origin.log, nonce, clockMs: wholeMs(origin.nowMs), ...event, ...more }
      send(`event:start\ndata:${JSON.stringify(start)}\n\n`, event)
    },
    say: event => send(`data:${formatEvent(event, saidMs)}\n\n`, event),
    heads: () => origin.count('/coherence?'),
  }
}

/** Rounds a time as servers do. */
function wholeMs(timeMs: number): number {
  return Math.floor(timeMs / EVENT_TIME_MS) * EVENT_TIME_MS
}

/** An event without changes up to a position. */
function nothing(position: number, askedMs: number): ChangesEvent {
  return { from: position, to: position, askedMs: wholeMs(askedMs), changes: packChanges(position, position, []) }
}

function startAtOnce({ origin: { position, nowMs }, start }: Scene): void {
  start(nothing(position, nowMs))
}

let current: Scene | undefined
beforeEach(async () => {
  current = await scene()
})
afterEach(() => current?.db.close())

describe('pushed', () => {
  test('changes are known at once, without a head', async () => {
    const { origin, db, say, heads } = current!
    startAtOnce(current!)
    for (let price = 2; price < 5; price++) {
      const position = origin.put('shop/products/1', { price })
      say(origin.changesAfter(position - 1))
      await vi.waitUntil(() => db.session.position === position, { timeout: 30_000 })
      expect(await db.bucket('shop/products').get('1')).toEqual({ price })
    }
    expect(heads()).toBe(0)
  })

  test('missed changes arrive with the start', async () => {
    const { origin, db, start, heads } = current!
    const before = db.session.position
    const position = origin.put('shop/products/1', { price: 2 })
    start(origin.changesAfter(before))
    await vi.waitUntil(() => db.session.position === position, { timeout: 30_000 })
    expect(heads()).toBe(0)
  })

  test('events without changes keep the sketch fresh', async () => {
    const { origin, db, say, heads } = current!
    startAtOnce(current!)
    for (let i = 0; i < 5; i++) {
      origin.nowMs += 900
      say(nothing(origin.position, origin.nowMs))
      await new Promise(resolve => setTimeout(resolve, 2))
      await db.bucket('shop/products').get('1')
    }
    expect(heads()).toBe(0)
  })

  test('heads are fetched ahead of reads if events are too rare for the staleness allowed', async () => {
    const { origin, streams } = current!
    const { url, fetch, clock } = origin
    const db = await connect(url, { fetch, clock, refresh: 'push', staleness: 40, random: () => 0 })
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
    await db.bucket('shop/products').get('1', { read: 'any' })
    const position = origin.put('shop/products/1', { price: 2 })
    origin.nowMs += 39
    await vi.waitUntil(() => db.session.position === position, { timeout: 30_000 })
    db.close()
  })

  test('a delayed event makes nothing fresh', async () => {
    const { origin, db, say, heads } = current!
    startAtOnce(current!)
    const madeAtMs = origin.nowMs
    origin.nowMs += 5000
    say(nothing(origin.position, madeAtMs))
    await new Promise(resolve => setTimeout(resolve, 2))
    await db.bucket('shop/products').get('1')
    expect(heads()).toBe(1)
  })

  test('a store whose clock stood still and catches up makes no event fresher than it is', async () => {
    const { origin, db, say, heads } = current!
    // The store's clock shows 3 s less than it should, and so does each head.
    origin.nowMs += 5000
    origin.storeBehindMs = 3000
    await db.session.refresh()
    startAtOnce(current!)
    origin.storeBehindMs = 0
    origin.nowMs += 10
    say(nothing(origin.position, origin.nowMs))
    await new Promise(resolve => setTimeout(resolve, 2))
    // From here on the stream is silent, and only heads report the write.
    origin.nowMs += 2000
    origin.put('shop/products/1', { price: 2 })
    origin.sent.length = 0
    expect(await db.bucket('shop/products').get('1', { read: 'current' })).toEqual({ price: 2 })
    origin.nowMs += 1001
    origin.put('shop/products/1', { price: 3 })
    origin.nowMs += 1001
    expect(await db.bucket('shop/products').get('1')).toEqual({ price: 3 })
    expect(heads()).toBe(2)
  })

  test('a start is as fresh as the request for it, and needs no head', async () => {
    const { origin, db, start, heads } = current!
    const askedMs = origin.nowMs
    origin.nowMs += 900
    // The server's clock when the request arrived; the last event that it sent to other clients is older.
    start(nothing(origin.position, askedMs - 400), { clockMs: wholeMs(askedMs) })
    await new Promise(resolve => setTimeout(resolve, 2))
    await db.bucket('shop/products').get('1')
    expect(heads()).toBe(0)
  })

  test('an event from the future ends the stream: one of the clocks has stood still', async () => {
    const { origin, db, say, streams, heads } = current!
    startAtOnce(current!)
    say(nothing(origin.position, origin.nowMs + 5000))
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
    origin.sent.length = 0
    origin.nowMs += 1001
    await db.bucket('shop/products').get('1')
    expect(heads()).toBe(1)
  })

  test('a stream from a cache is ignored', async () => {
    const { origin, db, start, streams } = current!
    const position = origin.put('shop/products/1', { price: 2 })
    start(nothing(position + 7, origin.nowMs), { nonce: 'of another reader' })
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
    expect(db.session.position).toBe(position)
  })

  test('a stream is reopened after three minutes, because clocks drift', async () => {
    const { origin, say, streams } = current!
    startAtOnce(current!)
    origin.nowMs += 180_001
    say(nothing(origin.position, origin.nowMs))
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
  })

  test.each<[string, (scene: Scene) => void]>([
    ['a start at a later position', ({ start, origin }) => start(nothing(origin.position, origin.nowMs))],
    ['a start of another log', ({ start }) => start(nothing(0, 0), { log: 'other' })],
  ])('a head fills the gap after %s', async (_, tell) => {
    const { origin, db, heads } = current!
    startAtOnce(current!)
    const position = origin.put('shop/products/2', {})
    tell(current!)
    await vi.waitUntil(() => db.session.position === position, { timeout: 30_000 })
    expect(heads()).toBe(1)
  })

  test.each([
    ['an event before any start', 'data:AAA\n\n'],
    [
      'an event that is cut short',
      'event:start\ndata:{"log":"log-1","from":1,"to":1,"askedMs":0,"changes":"AA"}\n\ndata:AB\n\n',
    ],
    ['an incomplete start', 'event:start\ndata:{"log":"log-1"}\n\n'],
    ['text that is not JSON', 'event:start\ndata:{\n\n'],
  ])('%s ends the stream, and heads are fetched until there is another', async (_, text) => {
    const { origin, db, streams, heads } = current!
    const position = origin.put('shop/products/2', {})
    streams[0]!.enqueue(new TextEncoder().encode(text))
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
    expect(heads()).toBeGreaterThan(0)
    expect(db.session.position).toBe(position)
  })
})

describe('a stream that ends', () => {
  test('is reopened where it ended, and heads are fetched meanwhile', async () => {
    const { origin, db, streams, heads } = current!
    const position = origin.put('shop/products/2', {})
    streams[0]!.close()
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
    expect(heads()).toBeGreaterThan(0)
    expect(db.session.position).toBe(position)
    expect(origin.sent.some(({ target }) => target.startsWith(`/coherence/events?after=${position}&nonce=`))).toBe(true)
  })

  test('is not reopened once the connection is closed', async () => {
    const { origin, db, streams } = current!
    db.close()
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(streams).toHaveLength(1)
    expect(origin.sent).toEqual([])
  })
})

describe('polled', () => {
  test('changes are known ahead of reads while the program reads', async () => {
    const origin = new FakeOrigin()
    const { url, fetch, clock } = origin
    const db = await connect(url, { fetch, clock, refresh: 'poll', staleness: 50 })
    await db.bucket('shop/products').get('1', { read: 'any' })
    const position = origin.put('shop/products/1', {})
    const arrives = () => {
      origin.nowMs += 10
      return db.session.position === position
    }
    await vi.waitUntil(arrives, { timeout: 30_000 })
    origin.nowMs += 60_000
    await new Promise(resolve => setTimeout(resolve, 50))
    origin.sent.length = 0
    await new Promise(resolve => setTimeout(resolve, 150))
    expect(origin.sent).toEqual([])
    db.close()
  })
})
