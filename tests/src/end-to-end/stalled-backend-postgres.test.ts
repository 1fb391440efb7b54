/**
 * Two servers over one PostgreSQL. The connection over which one of them ticks and writes stalls for a while: the test stops its
 * backend, like a machine that swaps or a process under a debugger. Readers with a stream from that server miss nothing during
 * the stall, nor after it.
 */
import { connect, type Database } from '@freshet/client'
import { openPostgresStore } from '@freshet/engines/postgres'
import { type RunningPostgres, startPostgres } from '@freshet/engines/under-test/start-postgres'
import { createFreshetServer } from '@freshet/server'
import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'

interface Item {
  readonly number: number
}

const STALL_MS = 2500
const READS = 100
const toEnd: (() => Promise<unknown> | unknown)[] = []
let postgres: RunningPostgres
let admin: pg.Client

beforeEach(async () => {
  postgres = await startPostgres()
  toEnd.push(() => postgres.stop())
  admin = new pg.Client({ connectionString: postgres.url })
  await admin.connect()
  toEnd.push(() => admin.end())
})

afterEach(async () => {
  for (const end of toEnd.splice(0).reverse()) await end()
})

async function startServer(): Promise<string> {
  const store = await openPostgresStore({ url: postgres.url })
  const server = createFreshetServer({ store })
  toEnd.push(async () => {
    await server.close({ graceMs: 100 })
    await store.close()
  })
  return (await server.listen({ port: 0 })).url
}

async function open(url: string, refresh: 'push' | 'on-demand'): Promise<Database> {
  const db = await connect(url, { refresh })
  toEnd.push(() => db.close())
  return db
}

/** The backend of the only server: the one whose last statement ended a transaction. */
async function tickingBackend(): Promise<number> {
  const { rows } = await admin.query(
    "SELECT pid FROM pg_stat_activity WHERE application_name = 'freshet' AND query = 'COMMIT' AND state = 'idle'",
  )
  return rows.length === 1 ? Number(rows[0].pid) : tickingBackend()
}

/** Writes increasing numbers until it is over; `number` is the last acknowledged one. */
function writeOn(db: Database): { number: number; isOver: boolean; readonly done: Promise<void> } {
  const writing = { number: 0, isOver: false, done: Promise.resolve() }
  const write = async () => {
    for (let number = 1; !writing.isOver; number++) {
      await db.bucket<Item>('shop/items').put('1', { number })
      writing.number = number
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  writing.done = write()
  return writing
}

test('a push session reads every acknowledged write while the connection of its server stalls, and after', async () => {
  const a = await startServer()
  const backend = await tickingBackend()
  const b = await startServer()
  const reader = await open(a, 'push')
  const writing = writeOn(await open(b, 'on-demand'))
  await expect.poll(() => writing.number).toBeGreaterThan(0)
  const figures = { reads: 0, stale: 0 }
  const readUntil = async (isOver: () => boolean) => {
    while (!isOver()) {
      const least = writing.number
      const item = await reader.bucket<Item>('shop/items').get('1', { read: 'current' })
      figures.reads++
      if (item!.number < least) figures.stale++
      // What is read from memory would leave the writer no time.
      await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
  await readUntil(() => figures.reads >= 10)
  process.kill(backend, 'SIGSTOP')
  try {
    const untilMs = performance.now() + STALL_MS
    await readUntil(() => performance.now() > untilMs)
  } finally {
    process.kill(backend, 'SIGCONT')
  }
  const after = figures.reads
  await readUntil(() => figures.reads >= after + READS)
  writing.isOver = true
  await writing.done
  expect(figures).toMatchObject({ stale: 0 })
})
