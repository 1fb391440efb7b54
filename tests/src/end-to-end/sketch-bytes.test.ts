/**
 * The bytes that a reader receives to know of every write, at ten writes a second, counted on the wire: the cost of the sketch.
 * SECONDS=60 measures a whole minute.
 */
import { createServer, connect as openSocket, type Server, type Socket } from 'node:net'
import { type ConnectOptions, connect, type Database } from '@freshet/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type MemoryServer, startMemoryServer } from './memory-server.js'

const SECONDS = Number(process.env.SECONDS ?? 6)
const WRITES_PER_SECOND = 10
const EVENT = /data:[\w-]+\n\n/g
const HEAD = /HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/g

let server: MemoryServer
let wire: CountingWire
const open: Database[] = []

beforeEach(async () => {
  server = await startMemoryServer({})
  wire = await CountingWire.start(Number(new URL(server.url).port))
})

afterEach(async () => {
  for (const db of open.splice(0)) db.close()
  wire.stop()
  await server.stop()
})

/** Passes bytes on, and counts the bytes of answers. */
class CountingWire {
  received = ''
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  constructor(port: number) {
    this.#server = createServer(near => {
      const far = openSocket({ port, host: '127.0.0.1' })
      far.on('data', bytes => {
        this.received += bytes.toString('latin1')
      })
      near.pipe(far).pipe(near)
      for (const socket of [near, far]) {
        this.#sockets.add(socket)
        socket.on('error', () => this.stop())
      }
    })
  }

  static async start(port: number): Promise<CountingWire> {
    const wire = new CountingWire(port)
    await new Promise<void>(resolve => wire.#server.listen(0, '127.0.0.1', resolve))
    return wire
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  stop(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

async function connectOver(url: string, options: ConnectOptions): Promise<Database> {
  const db = await connect(url, options)
  open.push(db)
  return db
}

interface Cost {
  /** Once, at the start. */
  readonly openingBytes: number
  readonly bodyBytesPerMinute: number
  readonly headerBytesPerMinute: number
  /** The pushed part of the bodies. */
  readonly eventBytesPerMinute: number
  readonly eventBytesPerWrite: number
  /** The time from the acknowledgement of a write until the reader knows of it. */
  readonly medianMs: number
  readonly mostMs: number
}

/** Measures during writes. `each` runs after every write. */
async function measure(
  options: ConnectOptions,
  each: (db: Database, write: number) => Promise<void> = async () => {},
): Promise<Cost> {
  const db = await connectOver(wire.url, options)
  const writer = await connectOver(server.url, {})
  await db.bucket('shop/items').get('1', { read: 'any' })
  if (options.refresh === 'push') await vi.waitUntil(() => wire.received.includes('event:start'), { timeout: 30_000 })
  const openingBytes = wire.received.length
  const waits: Promise<number>[] = []
  const startedMs = performance.now()
  for (let write = 1; write <= SECONDS * WRITES_PER_SECOND; write++) {
    const { position } = await writer.bucket('shop/items').put(`${write}`, { write })
    waits.push(knownAfterMs(db, position))
    await each(db, write)
    await new Promise(resolve =>
      setTimeout(resolve, startedMs + (write * 1000) / WRITES_PER_SECOND - performance.now()),
    )
  }
  const lateMs = (await Promise.all(waits)).sort((a, b) => a - b)
  // On a busy machine the run takes longer, and heartbeats continue.
  const perMinute = (bytes: number) => Math.round((bytes * 60_000) / (performance.now() - startedMs))
  const text = wire.received.slice(openingBytes)
  const bytesOf = (pattern: RegExp) => (text.match(pattern) ?? []).join('').length
  const headerBytes = bytesOf(HEAD)
  return {
    openingBytes,
    bodyBytesPerMinute: perMinute(text.length - headerBytes),
    headerBytesPerMinute: perMinute(headerBytes),
    eventBytesPerMinute: perMinute(bytesOf(EVENT)),
    eventBytesPerWrite: bytesOf(EVENT) / waits.length,
    medianMs: Math.round(lateMs[lateMs.length >> 1]!),
    mostMs: Math.round(lateMs.at(-1)!),
  }
}

async function knownAfterMs(db: Database, position: number): Promise<number> {
  const startedMs = performance.now()
  await vi.waitUntil(() => db.session.position >= position, { timeout: 30_000, interval: 2 })
  return performance.now() - startedMs
}

test('with push, knowing every write costs less than 8 KB a minute, headers included', async () => {
  const cost = await measure({ refresh: 'push' })
  console.log('push:', cost)
  // Another 220 bytes a minute are for a head; on a machine that stalls for a second, there is a head per stall.
  expect(cost.eventBytesPerMinute + 220).toBeLessThan(8000)
  expect(cost.eventBytesPerWrite).toBeGreaterThan(5)
})

test('requested every second, the bodies take less than 5 KB a minute, and the headers are small', async () => {
  const cost = await measure({}, async (db, write) => {
    if (write % WRITES_PER_SECOND === 0) await db.session.refresh()
  })
  console.log('requested every second:', cost)
  expect(cost.bodyBytesPerMinute).toBeLessThan(5000)
  expect(cost.headerBytesPerMinute).toBeLessThan(60 * 180)
})

test('polled by a reader that allows a second of staleness, the bodies take hardly more', async () => {
  // Reads come from memory: the client polls only while there are reads.
  const cost = await measure({ refresh: 'poll' }, async db => {
    await db.bucket('shop/items').get('1', { read: 'any' })
  })
  console.log('polled:', cost)
  expect(cost.bodyBytesPerMinute).toBeLessThan(6000)
})
