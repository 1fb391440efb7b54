/** The console's recent data covers all workers, whichever of them answers. */
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ConsoleServer, startConsoleServer } from './console-scene.js'
import { endFreshetProcesses } from './freshet-process.js'

interface Item {
  readonly id: string
  readonly message?: string
}

let server: ConsoleServer

beforeAll(async () => {
  server = await startConsoleServer({ flags: ['--workers', '3'] })
})
afterAll(async () => {
  await server?.stop()
  await endFreshetProcesses()
})

/** Over a new connection, which any worker may take. */
async function ask(
  path: string,
  init: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<string> {
  const { method = 'GET', headers = {}, body } = init
  return new Promise((resolve, reject) => {
    const sent = request(server.url + path, { method, headers, agent: false }, answer => resolve(text(answer)))
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Leaves out the items of a worker that has been silent for a second. */
async function items(path: string): Promise<readonly Item[]> {
  return (JSON.parse(await ask(path)) as { items: readonly Item[] }).items
}

const pidsOf = (found: readonly Item[]) => [...new Set(found.map(({ id }) => id.split('-')[0]))]

test('lines of the log', async () => {
  for (let i = 0; i < 6; i++) {
    const listening = async () => (await items('/logs')).filter(({ message }) => message === 'listening')
    await expect.poll(async () => pidsOf(await listening())).toHaveLength(3)
  }
})

test('conflicts', async () => {
  await server.put('/db/shop/products/tea', { price: 1 })
  const headers = { 'content-type': 'application/json', 'if-match': '"1"' }
  for (let i = 0; i < 12; i++) await ask('/db/shop/products/tea', { method: 'PUT', headers, body: '{}' })
  for (let i = 0; i < 6; i++) await expect.poll(() => items('/conflicts')).toHaveLength(12)
})

test('the first process reports a worker that died', async () => {
  process.kill(server.process.workers()[0]!, 'SIGKILL')
  await expect
    .poll(async () => (await items('/logs').catch(() => [])).map(({ message }) => message))
    .toContain('worker died')
})
