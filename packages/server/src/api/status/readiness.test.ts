import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { FreshetError } from '@freshet/protocol'
import { afterEach, expect, test } from 'vitest'
import { withMethods } from '../../testing/odd-stores.js'
import { jsonRequest, problemOf, type RunningServer, startServer, until } from '../../testing/running-server.js'

let running: RunningServer
afterEach(() => running.stop())

const full = () => Promise.reject(new FreshetError('STORE_FULL', 'There is no space left.'))

async function start(methods: Partial<Store>): Promise<void> {
  running = await startServer({ store: withMethods(createMemoryStore({ positionsAfter: 0 }), methods) })
}

async function ready(): Promise<string> {
  const answer = await running.fetch('/ready')
  return answer.ok ? 'ready' : (await problemOf(answer)).code
}

test('a server is not ready while its store does not confirm writes, and ready again when it does', async () => {
  let isStopped = true
  let goOn: () => void = () => undefined
  const stopped = new Promise<void>(resolve => {
    goOn = resolve
  })
  await start({ remember: async name => (name === 'ready' && isStopped ? stopped : undefined) })
  expect(await ready()).toBe('STORE_UNAVAILABLE')
  isStopped = false
  goOn()
  await until(async () => (await ready()) === 'ready')
})

test('a server whose store has no space for an object is not ready, although a small write still fits', async () => {
  let isFull = true
  await start({
    commit: full,
    remember: (name, value) => (name === 'ready' && isFull && value.length > 100_000 ? full() : Promise.resolve()),
  })
  expect(await ready()).toBe('ready')
  expect((await running.fetch('/db/a/b/c', jsonRequest('PUT', {}))).status).toBe(507)
  expect(await ready()).toBe('STORE_FULL')
  // Also after a small write has been retried.
  const untilMs = performance.now() + 5000
  while (performance.now() < untilMs) expect(await ready()).toBe('STORE_FULL')
  isFull = false
  await until(async () => (await ready()) === 'ready')
})

test('the store is written to at most once in two seconds, however many requests come', async () => {
  let writes = 0
  await start({
    remember: async name => {
      if (name === 'ready') writes++
    },
  })
  const startedMs = performance.now()
  for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 10 }, ready))
  expect(writes).toBeLessThanOrEqual(1 + (performance.now() - startedMs) / 2000)
})
