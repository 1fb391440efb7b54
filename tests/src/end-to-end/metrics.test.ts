/** `/metrics` of a server with several workers: whichever answers, it reports all of them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { endFreshetProcesses, type FreshetProcess, startFreshet } from './freshet-process.js'

const WORKERS = 3
const READS = 60

let folder: string
let server: FreshetProcess

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-metrics-'))
  server = await startFreshet(['serve', '--data', join(folder, 'data'), '--workers', String(WORKERS)])
})

afterEach(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

/** Each request over a new connection, so that any worker may get it. */
async function get(path: string): Promise<string> {
  return (await fetch(server.url + path, { headers: { connection: 'close' } })).text()
}

/** A worker that is silent for a second is missing from the answer. */
async function scrape(): Promise<{ readonly reads: number; readonly latencies: number; readonly answered: number }> {
  const text = await get('/metrics')
  const valueAt = (line: string) => {
    const start = text.indexOf(`\n${line} `)
    return start === -1 ? 0 : Number.parseFloat(text.slice(start + line.length + 2))
  }
  const route = 'route="/db/{namespace}/{bucket}/{id}"'
  return {
    reads: valueAt(`freshet_requests_total{${route},method="GET",status="404"}`),
    latencies: valueAt(`freshet_request_seconds_count{${route}}`),
    answered: valueAt('freshet_workers{answered="yes"}'),
  }
}

/** Resolves when all reads are counted, which is a moment after their answers. */
async function readOften(readsBefore: number): Promise<void> {
  await Promise.all(Array.from({ length: READS }, () => get('/db/shop/products/nothing')))
  await expect.poll(async () => (await scrape()).latencies).toBe(readsBefore + READS)
}

test('every scrape has the counts of all workers', async () => {
  await readOften(0)
  for (let i = 0; i < 4 * WORKERS; i++) expect(await scrape()).toMatchObject({ reads: READS, latencies: READS })
  await expect.poll(scrape).toEqual({ reads: READS, latencies: READS, answered: WORKERS })
})

test('a stopped worker is reported, and its counts are kept, even when it is killed', async () => {
  await readOften(0)
  const [first, ...others] = server.workers()
  process.kill(first!, 'SIGSTOP')
  await expect.poll(scrape).toEqual({ reads: READS, latencies: READS, answered: others.length })
  process.kill(first!, 'SIGKILL')
  await expect.poll(async () => (await scrape()).answered).toBe(WORKERS)
  await readOften(READS)
  await expect.poll(scrape).toEqual({ reads: 2 * READS, latencies: 2 * READS, answered: WORKERS })
})
