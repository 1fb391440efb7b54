import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackChanges } from '@freshet/core/coherence'
import { createMemoryStore } from '@freshet/engines/memory'
import type { ChangesEvent } from '@freshet/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type EventReader, readEvents } from '../../testing/event-reader.js'
import { withMethods } from '../../testing/odd-stores.js'
import { type RunningServer, startServer, until } from '../../testing/running-server.js'

let running: RunningServer
const readers: EventReader[] = []

beforeEach(async () => {
  const settings = { heartbeatMs: 30, eventIntervalMs: 5, eventClientsMax: 3, eventBufferBytesMax: 50_000 }
  running = await startServer({ store: createMemoryStore({ positionsAfter: 0 }), settings })
})
afterEach(async () => {
  for (const reader of readers.splice(0)) reader.close()
  await running.stop()
})

async function follow(query = '', headers: Record<string, string> = {}): Promise<EventReader> {
  const reader = await readEvents(`${running.url}/coherence/events${query}`, headers)
  readers.push(reader)
  return reader
}

/** Keeps reading in the background. The returned function gives the position that it has reached. */
function keepReading(reader: EventReader): () => number {
  let position = 0
  const read = async (): Promise<void> => {
    position = (await reader.next()).event.to
    return read()
  }
  read().catch(() => undefined)
  return () => position
}

function positionsIn({ from, changes }: ChangesEvent): number[] {
  return unpackChanges(from, changes).changes.map(({ position }) => position)
}

/** Writes straight to the store, in one commit. */
async function commit(batch: number, count: number): Promise<void> {
  const body = new TextEncoder().encode('{}')
  const keys = Array.from({ length: count }, (_, i) => `shop/products/${batch}-${i}`)
  await running.store.commit({ writes: keys.map(key => ({ key, contentType: 'application/json', body })) })
}

async function metric(name: string): Promise<number> {
  const text = await (await running.fetch('/metrics')).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

describe('event streams', () => {
  test('push every change, without gaps', async () => {
    const reader = await follow('?after=0')
    let known = (await reader.next('start')).event.to
    const listed: number[] = []
    for (let i = 1; i <= 20; i++) {
      const { position } = await running.put(`/db/shop/products/${i}`, {})
      while (known < position) {
        const { event } = await reader.next('message')
        expect(event.from).toBe(known)
        known = event.to
        listed.push(...positionsIn(event))
      }
    }
    expect(known).toBe(20)
    expect([...new Set(listed)]).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  })

  test('start with what a returning reader missed, by the URL or by Last-Event-ID', async () => {
    for (let i = 1; i <= 5; i++) await running.put(`/db/shop/products/${i}`, {})
    const byUrl = await (await follow('?after=2')).next('start')
    expect(byUrl.event).toMatchObject({ log: running.store.log, from: 2, to: 5 })
    expect(byUrl.id).toBe('5')
    const byHeader = await (await follow('?after=2', { 'last-event-id': '4' })).next('start')
    expect([byHeader.event.from, byHeader.event.to]).toEqual([4, 5])
    // The object, and the lists of its bucket.
    expect(positionsIn(byHeader.event)).toEqual([5, 5])
  })

  test('that started at different times continue with the same events', async () => {
    const first = await follow()
    await running.put('/db/shop/products/1', {})
    const [start, second] = [await first.next('start'), await follow('?after=1')]
    const { position } = await running.put('/db/shop/products/2', {})
    let [one, other] = [start.event, (await second.next('start')).event]
    while (one.to < position) one = (await first.next('message')).event
    while (other.to < position) other = (await second.next('message')).event
    expect(other.askedMs).toBe(one.askedMs)
  })

  test('gather changes in quick succession', async () => {
    const reader = await follow()
    await reader.next('start')
    for (let batch = 1; batch <= 50; batch++) await commit(batch, 1)
    let events = 0
    for (let known = 0; known < 50; events++) known = (await reader.next('message')).event.to
    expect(events).toBeLessThan(10)
  })

  test('report a gap instead of hiding it: a position that is too old, or that never existed', async () => {
    for (let batch = 0; batch < 6; batch++) {
      const writes = Array.from({ length: 900 }, (_, i) => ({ path: `/db/shop/products/${batch}-${i}`, value: {} }))
      const body = JSON.stringify({ writes })
      const answer = await running.fetch('/commit', {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      })
      expect(answer.status).toBe(200)
    }
    for (const after of [0, 99]) {
      const { event, id } = await (await follow(`?after=${after}`)).next('start')
      expect([event.from, event.to, positionsIn(event), id]).toEqual([6, 6, [], undefined])
    }
  })

  test('start again for all readers when too much has changed to be listed', async () => {
    const reader = await follow()
    await reader.next('start')
    await Promise.all([1, 2, 3].map(batch => commit(batch, 900)))
    const { event, id } = await reader.next('start')
    expect([event.from, id]).toEqual([event.to, undefined])
  })

  test('send heartbeats with the time and the position up to which everything is known', async () => {
    const reader = await follow()
    const { event: start } = await reader.next('start')
    const { position } = await running.put('/db/shop/products/1', {})
    let { event } = await reader.next('message')
    while (event.from < position) ({ event } = await reader.next('message'))
    expect([event.from, event.to, positionsIn(event)]).toEqual([position, position, []])
    expect(event.askedMs).toBeGreaterThan(start.askedMs)
  })

  test('start with the nonce and the clock of their events, if the request has a nonce', async () => {
    const reader = await follow('?nonce=n1')
    const { event: start } = await reader.next('start')
    expect(start.nonce).toBe('n1')
    const beforeMs = performance.now()
    // The server runs in this process, so both clocks are the same.
    expect(start.clockMs).toBeLessThanOrEqual(beforeMs)
    let { event } = await reader.next('message')
    while (event.askedMs < beforeMs) ({ event } = await reader.next('message'))
    expect(event.askedMs).toBeLessThanOrEqual(performance.now())
    expect((await (await follow()).next('start')).event).not.toHaveProperty('clockMs')
    expect((await running.fetch('/coherence/events?nonce=%20')).status).toBe(400)
  })

  test('never claim to know later commits, however slow the store and whatever its clock', async () => {
    const store = createMemoryStore({ positionsAfter: 0 })
    const slow = withMethods(store, {
      nowMs: () => performance.now() + 3_600_000,
      position: async () => {
        const position = await store.position()
        await new Promise(resolve => setTimeout(resolve, 3))
        return position
      },
    })
    await running.stop()
    running = await startServer({ store: slow, settings: { heartbeatMs: 10, eventIntervalMs: 5 } })
    const reader = await follow()
    const events: ChangesEvent[] = [(await reader.next('start')).event]
    const acknowledged: { position: number; atMs: number }[] = []
    const writing = (async () => {
      while (events.length < 100) {
        const { position } = await running.put('/db/shop/products/1', {})
        acknowledged.push({ position, atMs: performance.now() })
      }
    })()
    while (events.length < 100) events.push((await reader.next('message')).event)
    await writing
    for (const { to, askedMs } of events) {
      const missed = acknowledged.find(({ position }) => position > to)
      expect(askedMs).toBeLessThanOrEqual(missed?.atMs ?? Number.POSITIVE_INFINITY)
    }
  })

  test('include what was acknowledged before the request, also if earlier streams have received less', async () => {
    await follow()
    const { position } = await running.put('/db/shop/products/1', {})
    const { event } = await (await follow('?nonce=n2')).next('start')
    expect(event.to).toBeGreaterThanOrEqual(position)
  })

  test('are refused beyond the maximum number of readers', async () => {
    for (let i = 0; i < 3; i++) await follow()
    const refused = await running.fetch('/coherence/events')
    expect([refused.status, refused.headers.get('cache-control')]).toEqual([503, 'no-store'])
    readers.pop()?.close()
    await until(async () => (await metric('freshet_event_clients')) === 2)
    await follow()
  })

  test('are cut for a reader that does not read, and for no other', async () => {
    // Uses a Unix socket, since the system buffers much less of it than of a TCP connection.
    const own = createServer((request, response) => running.server.handle(request, response))
    const path = join(tmpdir(), `freshet-events-${randomUUID()}`)
    await once(own.listen(path), 'listening')
    const slow = connect(path)
    slow.pause()
    slow.on('error', () => undefined)
    slow.write('GET /coherence/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const other = await follow()
    const lastSeen = keepReading(other)
    await until(async () => (await metric('freshet_event_clients')) === 2)
    let batch = 0
    await until(async () => {
      for (const last = batch + 50; batch < last; batch++) {
        await commit(batch, 1000)
        await new Promise(resolve => setTimeout(resolve, 6))
      }
      return (await metric('freshet_event_clients_cut')) === 1
    })
    const { position } = await running.put('/db/shop/products/last', {})
    await until(() => lastSeen() >= position)
    expect(await metric('freshet_event_clients')).toBe(1)
    slow.destroy()
    own.close()
  })

  test('answer HEAD without starting a stream', async () => {
    const answer = await running.fetch('/coherence/events', { method: 'HEAD' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect(await metric('freshet_event_clients')).toBe(0)
  })

  test('end when the server stops', async () => {
    const reader = await follow()
    const [ended] = await Promise.all([reader.ended(), running.server.close({ graceMs: 5000 })])
    expect(ended).toBe(true)
  })
})
