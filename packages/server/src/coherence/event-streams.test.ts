import { createMemoryStore } from '@freshet/stores/memory'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type EventReader, readEvents } from '../testing/event-reader.js'
import { openSocket, type RunningServer, startServer, until } from '../testing/running-server.js'

let running: RunningServer
const readers: EventReader[] = []

beforeEach(async () => {
  const settings = { heartbeatMs: 30, eventIntervalMs: 5, eventClientsMax: 3, eventBufferBytesMax: 50_000 }
  running = await startServer({ store: createMemoryStore(), settings })
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

/** Reads on in the background; answers up to where it has come. */
function keepReading(reader: EventReader): () => number {
  let position = 0
  const read = async (): Promise<void> => {
    const { value } = await reader.next('heartbeat')
    position = value.position as number
    return read()
  }
  read().catch(() => undefined)
  return () => position
}

async function metric(name: string): Promise<number> {
  const text = await (await running.fetch('/metrics')).text()
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
}

describe('event streams', () => {
  test('push every change, without a hole', async () => {
    const reader = await follow('?after=0')
    await reader.next('heartbeat')
    let known = 0
    for (let i = 1; i <= 20; i++) {
      const { position } = await running.put(`/db/shop/products/${i}`, {})
      while (known < position) {
        const { id, value } = await reader.next('changes')
        expect(value.from).toBe(known)
        known = value.to as number
        expect(id).toBe(`${known}`)
      }
    }
    expect(known).toBe(20)
  })

  test('send what was missed to who comes back, by the URL or by Last-Event-ID', async () => {
    for (let i = 1; i <= 5; i++) await running.put(`/db/shop/products/${i}`, {})
    const byUrl = await (await follow('?after=2')).next()
    expect([byUrl.event, byUrl.value.from, byUrl.value.to]).toEqual(['changes', 2, 5])
    const byHeader = await (await follow('?after=2', { 'last-event-id': '4' })).next()
    expect([byHeader.event, byHeader.value.from, byHeader.value.to]).toEqual(['changes', 4, 5])
    expect((byHeader.value.changes as unknown[]).length).toBe(2)
  })

  test('tell of a gap rather than stay silent: too long ago, or a position that never was', async () => {
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
    const old = await (await follow('?after=0')).next()
    expect([old.event, old.id, old.value.position]).toEqual(['gap', undefined, 6])
    const future = await (await follow('?after=99')).next()
    expect(future.event).toBe('gap')
  })

  test('beat, with the time and the position up to which all is known', async () => {
    const reader = await follow()
    const first = await reader.next('heartbeat')
    const { position } = await running.put('/db/shop/products/1', {})
    let beat = await reader.next('heartbeat')
    while ((beat.value.position as number) < position) beat = await reader.next('heartbeat')
    expect(beat.value.timeMs).toBeGreaterThanOrEqual(first.value.timeMs as number)
    expect(beat.value.log).toBe(running.store.log)
  })

  test('are not for more readers than allowed', async () => {
    for (let i = 0; i < 3; i++) await follow()
    const refused = await running.fetch('/coherence/events')
    expect([refused.status, refused.headers.get('cache-control')]).toEqual([503, 'no-store'])
    readers.pop()?.close()
    await until(async () => (await metric('freshet_event_clients')) === 2)
    await follow()
  })

  test('cut a reader who does not read, and no other', async () => {
    const slow = await openSocket(running.port)
    slow.pause()
    slow.on('error', () => undefined)
    slow.write('GET /coherence/events HTTP/1.1\r\nHost: a\r\n\r\n')
    const other = await follow()
    const lastSeen = keepReading(other)
    await until(async () => (await metric('freshet_event_clients')) === 2)
    let i = 0
    await until(async () => {
      const writes = Array.from({ length: 500 }, () => ({ path: `/db/shop/products/${i++}`, value: {} }))
      await running.fetch('/commit', {
        method: 'POST',
        body: JSON.stringify({ writes }),
        headers: { 'content-type': 'application/json' },
      })
      return (await metric('freshet_event_clients_cut')) === 1
    }, 60_000)
    const { position } = await running.put('/db/shop/products/last', {})
    await until(() => lastSeen() >= position)
    expect(await metric('freshet_event_clients')).toBe(1)
    slow.destroy()
  })

  test('answer HEAD without beginning', async () => {
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
