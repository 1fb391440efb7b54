/** The command with caches in its config file: one process purges them, whichever dies, and their secrets stay secret. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { endFreshetProcesses, type FreshetProcess, runFreshet, startFreshet } from './freshet-process.js'

const SECRET = 'only-for-purges'
const SOON_MS = 30_000

let folder = ''
let purged: string[] = []
let isDown = false
let cacheUrl = ''

const cache = createServer(({ method, url, headers }, response) => {
  const isAllowed = method === 'PURGE' && headers['freshet-purge-secret'] === SECRET
  if (isAllowed && !isDown) purged.push(url!)
  response.writeHead(isDown ? 503 : isAllowed ? 200 : 403).end()
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-invalidation-'))
  purged = []
  isDown = false
  if (!cache.listening) await new Promise<void>(resolve => cache.listen(0, '127.0.0.1', resolve))
  cacheUrl = `http://127.0.0.1:${(cache.address() as AddressInfo).port}`
})

afterEach(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true })
})

afterAll(() => cache.close())

function writeConfig(more: object = {}): string {
  const path = join(folder, 'freshet.json')
  const edge = { name: 'edge', kind: 'varnish', url: cacheUrl, secretFrom: 'EDGE_SECRET', ...more }
  writeFileSync(path, JSON.stringify({ data: join(folder, 'data'), workers: 2, caches: [edge] }))
  return path
}

const OPTIONS = { environment: { EDGE_SECRET: SECRET } }

function start(): Promise<FreshetProcess> {
  return startFreshet(['serve', '--config', writeConfig()], OPTIONS)
}

async function put({ url }: FreshetProcess, id: string): Promise<void> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(`${url}/db/shop/tea/${id}`, { method: 'PUT', headers, body: '{}' })
  expect(response.ok).toBe(true)
}

async function expectPurged(id: string): Promise<void> {
  await expect.poll(() => purged, { timeout: SOON_MS, interval: 10 }).toContain(`/db/shop/tea/${id}`)
}

test('one of several workers purges the cache; when workers die, another takes over', async () => {
  const server = await start()
  await put(server, 'green')
  await expectPurged('green')
  const workers = server.workers()
  for (const pid of workers) process.kill(pid, 'SIGKILL')
  await expect.poll(() => server.workers().filter(pid => !workers.includes(pid)).length, { timeout: SOON_MS }).toBe(2)
  await expect
    .poll(
      () =>
        put(server, 'white')
          .then(() => true)
          .catch(() => false),
      { timeout: SOON_MS },
    )
    .toBe(true)
  await expectPurged('white')
  // Once, and once more for purges not settled when the workers died; with two purging workers it would be twice that.
  expect(purged.filter(url => url.endsWith('/green')).length).toBeLessThanOrEqual(2)
  expect(await server.stop()).toBe(0)
  expect(server.output()).not.toContain(SECRET)
})

test('writes acknowledged before kill -9 are purged after the next start', async () => {
  isDown = true
  const first = await start()
  for (const id of ['a', 'b', 'c', 'd', 'e']) await put(first, id)
  await first.kill()
  expect(purged).toEqual([])
  isDown = false
  await start()
  for (const id of ['a', 'b', 'c', 'd', 'e']) await expectPurged(id)
})

test('config shows caches by name, and refuses mistakes, without the secret', async () => {
  const dumped = await runFreshet(['config', '--dump', '--config', writeConfig()], OPTIONS)
  expect(dumped.output).toMatch(/caches +edge \(varnish\) +\S+freshet\.json/)
  const path = writeConfig({ secret: SECRET, secretFrom: undefined, kind: 'varnsh' })
  const refused = await runFreshet(['serve', '--config', path], OPTIONS)
  expect(refused.exitCode).toBe(2)
  expect(refused.errors).toContain('cache "edge": kind must be one of varnish, squid,')
  expect(dumped.output + dumped.errors + refused.output + refused.errors).not.toContain(SECRET)
})
