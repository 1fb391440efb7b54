import { createMemoryStore } from '@freshet/engines/memory'
import { createFreshetServer, type FreshetServer } from '@freshet/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRandom } from '../../harness/random.js'
import { type Link, startLink } from '../../network/link.js'
import { idOf } from './social-network.js'
import { Clients, Journal, READS_PER_WRITE } from './visits.js'

const DELAY_MS = 10
const OBJECTS = 5

let server: FreshetServer
let link: Link
beforeAll(async () => {
  server = createFreshetServer({ store: createMemoryStore() })
  const { url } = await server.listen({ port: 0 })
  link = await startLink({ target: url, delayMs: DELAY_MS })
})
afterAll(async () => {
  await link.stop()
  await server.close({ graceMs: 0 })
})

async function visit(journal: Journal, memoryBytesMax: number) {
  const random = createRandom(1)
  const choose = (own: typeof random) => own.below(OBJECTS)
  const clients = new Clients({ url: link.url, clients: 3, memoryBytesMax, choose, random, journal })
  await clients.connect()
  try {
    return await clients.run(2)
  } finally {
    clients.close()
  }
}

describe('clients that visit', () => {
  it('read and write as often as configured, each time over the network, and see nothing stale', async () => {
    const journal = new Journal()
    const { reads, writes, readMs, writeMs, totalMs } = await visit(journal, 0)
    expect({ reads, writes }).toEqual({ reads: 3 * 2 * READS_PER_WRITE, writes: 6 })
    expect(readMs).toBeGreaterThanOrEqual(2 * READS_PER_WRITE * 2 * DELAY_MS)
    expect(writeMs).toBeGreaterThanOrEqual(2 * 2 * DELAY_MS)
    expect(totalMs).toBeCloseTo(readMs + writeMs, 6)
    expect(journal.checker.reads).toBe(reads)
    expect(journal.history.writes).toBe(writes)
    expect(journal.checker.traces).toEqual([])
  })

  it('keep what they have read, where allowed', async () => {
    const { reads, remembered } = await visit(new Journal(), 1024 * 1024)
    expect(remembered).toBeGreaterThan(0)
    expect(remembered).toBeLessThan(reads)
  })

  it('are reported if a read misses a write acknowledged long before', async () => {
    const journal = new Journal()
    const longAgoMs = performance.now() - 60_000
    // A write that no read will ever return.
    journal.history.acknowledgePut(idOf(0), Number.MAX_SAFE_INTEGER, -1, longAgoMs)
    await visit(journal, 0)
    expect(journal.checker.violations.get('staleness')).toBeGreaterThan(0)
  })
})
