import { EVENT_TIME_MS, formatEvent, packChanges } from '@freshet/core/coherence'
import type { ChangesEvent } from '@freshet/protocol'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { connect } from '../connect.js'
import type { Database } from '../database.js'
import { FakeOrigin } from '../testing/fake-origin.js'

interface Scene {
  readonly origin: FakeOrigin
  readonly db: Database
  readonly streams: ReadableStreamDefaultController<Uint8Array>[]
  /** The event that a stream starts with, or starts anew with. */
  start(event: ChangesEvent, log?: string): void
  /** The next one. */
  say(event: ChangesEvent): void
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
  await vi.waitUntil(() => streams.length === 1, { timeout: 30_000 })
  origin.sent.length = 0
  let saidMs = 0
  const send = (text: string, { timeMs }: ChangesEvent) => {
    saidMs = timeMs
    streams.at(-1)!.enqueue(new TextEncoder().encode(text))
  }
  return {
    origin,
    db,
    streams,
    start: (event, log = origin.log) => send(`event:start\ndata:${JSON.stringify({ log, ...event })}\n\n`, event),
    say: event => send(`data:${formatEvent(event, saidMs)}\n\n`, event),
    heads: () => origin.count('/coherence?'),
  }
}

/** As servers round it. */
function wholeMs(timeMs: number): number {
  return Math.floor(timeMs / EVENT_TIME_MS) * EVENT_TIME_MS
}

/** Nothing happened up to a position. */
function nothing(position: number, timeMs: number): ChangesEvent {
  return { from: position, to: position, timeMs: wholeMs(timeMs), changes: packChanges(position, position, []) }
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
  test('changes are known at once, and no head is asked for', async () => {
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

  test('changes that were missed come with the start', async () => {
    const { origin, db, start, heads } = current!
    const before = db.session.position
    const position = origin.put('shop/products/1', { price: 2 })
    start(origin.changesAfter(before))
    await vi.waitUntil(() => db.session.position === position, { timeout: 30_000 })
    expect(heads()).toBe(0)
  })

  test('that nothing happened keeps the sketch fresh', async () => {
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

  test('events that come too seldom for the staleness allowed are made up for by heads, ahead of reads', async () => {
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

  test('an event that was long on its way makes nothing fresh', async () => {
    const { origin, db, say, heads } = current!
    startAtOnce(current!)
    const madeAtMs = origin.nowMs
    origin.nowMs += 5000
    say(nothing(origin.position, madeAtMs))
    await new Promise(resolve => setTimeout(resolve, 2))
    await db.bucket('shop/products').get('1')
    expect(heads()).toBe(1)
  })

  test.each<[string, (scene: Scene) => void]>([
    ['a start further on', ({ start, origin }) => start(nothing(origin.position, origin.nowMs))],
    ['a start of another log', ({ start }) => start(nothing(0, 0), 'other')],
  ])('%s is made up for by a head', async (_, tell) => {
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
      'event:start\ndata:{"log":"log-1","from":1,"to":1,"timeMs":0,"changes":"AA"}\n\ndata:AB\n\n',
    ],
    ['a start that is none', 'event:start\ndata:{"log":"log-1"}\n\n'],
    ['what is no JSON', 'event:start\ndata:{\n\n'],
  ])('%s ends the stream, and heads are asked for until there is another', async (_, text) => {
    const { origin, db, streams, heads } = current!
    const position = origin.put('shop/products/2', {})
    streams[0]!.enqueue(new TextEncoder().encode(text))
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
    expect(heads()).toBeGreaterThan(0)
    expect(db.session.position).toBe(position)
  })
})

describe('a stream that ends', () => {
  test('is opened again where it was left, and heads are asked for meanwhile', async () => {
    const { origin, db, streams, heads } = current!
    const position = origin.put('shop/products/2', {})
    streams[0]!.close()
    await vi.waitUntil(() => streams.length === 2, { timeout: 30_000 })
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
