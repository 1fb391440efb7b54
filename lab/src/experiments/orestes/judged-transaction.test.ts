import { connect, type Database, type Fetch, type ReadMode } from '@freshet/client'
import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, type FreshetServer } from '@freshet/server'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { RecordedHistory } from '../../coherence-load/recorded-history.js'
import { beginJudged, type JudgedTransaction } from './judged-transaction.js'

const BUCKET = 'orestes/games'

interface Game {
  readonly number: number
}

let server: FreshetServer
let db: Database
let cached: Database
let history: RecordedHistory

/** A cache that keeps everything it has seen forever. */
function createHoarder(): Fetch {
  const kept = new Map<string, { readonly text: string; readonly status: number; readonly headers: Headers }>()
  return async (url, init) => {
    if ((init.method ?? 'GET') !== 'GET' || !url.includes('/db/')) return fetch(url, init)
    const copy = kept.get(url)
    if (copy) return new Response(copy.text, copy)
    const answer = await fetch(url, init)
    const { status, headers } = answer
    const text = await answer.text()
    kept.set(url, { text, status, headers })
    return new Response(text, { status, headers })
  }
}

beforeEach(async () => {
  server = createFreshetServer({ store: createMemoryStore() })
  const { url } = await server.listen({ port: 0 })
  db = await connect(url, { memoryBytesMax: 0 })
  cached = await connect(url, { memoryBytesMax: 0, fetch: createHoarder() })
  history = new RecordedHistory()
})

afterEach(async () => {
  db.close()
  cached.close()
  await server.close({ graceMs: 0 })
})

function begin(through: Database, read: ReadMode = 'any'): Promise<JudgedTransaction<Game>> {
  return beginJudged<Game>({
    db: through,
    bucket: BUCKET,
    read,
    history,
    beganMs: performance.now(),
  })
}

/** Reads the object, then writes it. */
async function write(number: number, id: string): Promise<void> {
  const transaction = await begin(db)
  await transaction.read(id)
  transaction.write(id, { number })
  expect(await transaction.commit()).toBe('committed')
}

describe('a transaction', () => {
  test('commits when all reads still hold, including reads of absent objects', async () => {
    await write(1, 'chess')
    await write(2, 'chess')
    expect((await db.bucket<Game>(BUCKET).get('chess'))!.number).toBe(2)
  })

  test('that only reads is validated as well', async () => {
    await write(1, 'chess')
    const reader = await begin(db)
    await reader.read('chess')
    await reader.read('go')
    await write(2, 'chess')
    expect(await reader.commit()).toBe('conflict')
  })

  test('that got an outdated copy from a cache aborts from staleness, and changes nothing', async () => {
    await write(1, 'chess')
    await (await begin(cached)).read('chess')
    await write(2, 'chess')
    const late = await begin(cached)
    await late.read('chess')
    late.write('go', { number: 3 })
    expect(await late.commit()).toBe('stale')
    expect(late.staleReads).toBe(1)
    expect(await db.bucket<Game>(BUCKET).get('go')).toBeUndefined()
  })

  test('that was overtaken aborts from a true conflict, also through the cache', async () => {
    await write(1, 'chess')
    const overtaken = await begin(cached)
    await overtaken.read('chess')
    await write(2, 'chess')
    overtaken.write('chess', { number: 3 })
    expect(await overtaken.commit()).toBe('conflict')
    expect(overtaken.staleReads).toBe(0)
  })

  test('that is coherent takes no copy from a cache that the session knows to be outdated', async () => {
    await write(1, 'chess')
    await (await begin(cached)).read('chess')
    await write(2, 'chess')
    await cached.session.refresh()
    const late = await begin(cached, 'session')
    await late.read('chess')
    late.write('go', { number: 3 })
    expect(await late.commit()).toBe('committed')
    expect(late.staleReads).toBe(0)
  })
})
