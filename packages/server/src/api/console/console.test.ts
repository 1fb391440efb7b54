/** What the console needs from a server: its files, and the routes for admins. */
import type { Store } from '@freshet/core/store'
import { createMemoryStore } from '@freshet/engines/memory'
import { FreshetError } from '@freshet/protocol'
import { describe, expect, test } from 'vitest'
import type { FreshetServerOptions } from '../../freshet-server.js'
import { createJsonLog } from '../../monitoring/log.js'
import { jsonRequest, problemOf, type RunningServer } from '../../testing/running-server.js'
import { serversPerTest } from '../../testing/servers-per-test.js'

const startServer = serversPerTest()
const start = (options: Partial<FreshetServerOptions> = {}): Promise<RunningServer> =>
  startServer({ store: createMemoryStore({ positionsAfter: 0 }), ...options })

async function get<Answer>(running: RunningServer, path: string): Promise<Answer> {
  const response = await running.fetch(path)
  expect([path, response.status]).toEqual([path, 200])
  return (await response.json()) as Answer
}

describe('files', () => {
  const files = {
    'index.html': { contentType: 'text/html; charset=utf-8', body: '<!doctype html><p>Console' },
    'assets/console-a1.js': { contentType: 'text/javascript', body: 'const a = 1\n'.repeat(500) },
    'assets/run-code-b2.js': { contentType: 'text/javascript', body: 'onmessage = 1' },
  }

  test('no cache keeps the page, every cache may keep what it loads, and both run no foreign code', async () => {
    const running = await start({ console: files })
    const page = await running.fetch('/console')
    expect(await page.text()).toBe('<!doctype html><p>Console')
    expect(page.headers.get('cache-control')).toBe('no-store')
    const script = await running.fetch('/console/assets/console-a1.js')
    expect(script.headers.get('cache-control')).toContain('immutable')
    for (const { headers } of [page, script]) {
      expect(headers.get('content-security-policy')).toContain("script-src 'self';")
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    }
  })

  test('only the worker that runs code from the user may evaluate code', async () => {
    const running = await start({ console: files })
    const policies = await Promise.all(
      ['', '/assets/console-a1.js', '/assets/run-code-b2.js'].map(async path =>
        (await running.fetch(`/console${path}`)).headers.get('content-security-policy')!.includes('unsafe-eval'),
      ),
    )
    expect(policies).toEqual([false, false, true])
  })

  test('they are compressed for clients that accept it', async () => {
    const running = await start({ console: files })
    const plain = await running.fetch('/console/assets/console-a1.js', { headers: { 'accept-encoding': 'identity' } })
    const small = await running.fetch('/console/assets/console-a1.js', { headers: { 'accept-encoding': 'br' } })
    expect([plain.headers.get('content-encoding'), small.headers.get('content-encoding')]).toEqual([null, 'br'])
    expect(Number(small.headers.get('content-length'))).toBeLessThan(200)
    expect(await small.text()).toBe(await plain.text())
  })

  test('a slash at the end of its address leads to the page, and a slash after other addresses does not', async () => {
    const running = await start({ console: files })
    for (const method of ['GET', 'HEAD']) {
      const sentOn = await running.fetch('/console/', { method })
      expect([sentOn.status, sentOn.headers.get('location')]).toEqual([308, '/console'])
      expect(sentOn.headers.get('cache-control')).toBe('no-store')
    }
    expect(await (await fetch(`${running.url}/console/`)).text()).toBe('<!doctype html><p>Console')
    for (const path of ['/console//', '/console/assets/', '/caches/', '/db/']) {
      expect(await problemOf(await running.fetch(path))).toMatchObject({ status: 400, code: 'URL_INVALID' })
    }
    expect(await problemOf(await running.fetch('/console/', { method: 'POST' }))).toMatchObject({ code: 'URL_INVALID' })
  })

  test('a server without them says so, and no name reaches another file', async () => {
    const running = await start()
    expect(await problemOf(await running.fetch('/console'))).toMatchObject({ status: 404, code: 'ROUTE_UNKNOWN' })
    const withFiles = await start({ console: files })
    for (const name of ['constructor', '__proto__', 'assets', 'index.html/..%2F']) {
      expect((await withFiles.fetch(`/console/${name}`)).status).toBeGreaterThanOrEqual(400)
    }
  })
})

interface Changes {
  readonly entries: readonly { readonly position: number; readonly keys: readonly string[] }[]
  readonly next?: number
}

describe('the change log', () => {
  test('shows the commits that changed an object, and no others', async () => {
    const running = await start()
    const [first] = [await running.put('/db/shop/products/tea', { price: 1 })]
    await running.put('/db/shop/products/tea-2', { price: 1 })
    const second = await running.put('/db/shop/products/tea', { price: 2 })
    const { entries, next } = await get<Changes>(running, '/changes?of=shop%2Fproducts%2Ftea')
    expect(entries.map(({ position }) => position)).toEqual([first.version, second.version])
    expect(entries[1]!.keys[0]).toBe('shop/products/tea')
    expect(next).toBeUndefined()
    const bucket = await get<Changes>(running, '/changes?of=shop%2Fproducts')
    expect(bucket.entries).toHaveLength(3)
  })

  test('comes in pages that continue where the last one ended', async () => {
    const running = await start()
    for (let i = 0; i < 7; i++) await running.put(`/db/shop/products/${i}`, { i })
    const seen: number[] = []
    for (let after = ''; ; ) {
      const page = await get<Changes>(running, `/changes?${after}limit=3`)
      seen.push(...page.entries.map(({ position }) => position))
      if (page.next === undefined) break
      after = `after=${page.next}&`
    }
    expect(seen).toHaveLength(7)
    expect(seen).toEqual([...new Set(seen)].sort((a, b) => a - b))
  })

  test('is refused beyond its bounds', async () => {
    const running = await start()
    for (const query of ['limit=0', 'limit=5000', 'limit=x', 'after=x']) {
      expect([query, (await running.fetch(`/changes?${query}`)).status]).toEqual([query, 400])
    }
  })
})

interface Conflicts {
  readonly items: readonly {
    readonly id: string
    readonly timeMs: number
    readonly kind: string
    readonly changed: readonly unknown[]
    readonly writes: readonly string[]
  }[]
}

describe('conflicts', () => {
  test('a write that came too late is listed, with the version that it expected and the current one', async () => {
    const running = await start()
    const { version: old } = await running.put('/db/shop/products/tea', { price: 1 })
    const { version } = await running.put('/db/shop/products/tea', { price: 2 })
    await running.fetch('/db/shop/products/tea', jsonRequest('PUT', { price: 3 }, { 'if-match': `"${old}"` }))
    const { items } = await get<Conflicts>(running, '/conflicts')
    expect(items).toMatchObject([
      { kind: 'write', changed: [{ key: 'shop/products/tea', expected: old, version }], writes: ['shop/products/tea'] },
    ])
    const { timeMs } = items[0]!
    expect((await get<Conflicts>(running, `/conflicts?since=${timeMs}`)).items).toHaveLength(1)
    expect((await get<Conflicts>(running, `/conflicts?since=${timeMs + 1}`)).items).toEqual([])
    expect((await running.fetch('/conflicts?since=x')).status).toBe(400)
  })

  test('a refused commit is listed, a successful one is not', async () => {
    const running = await start()
    const { version } = await running.put('/db/shop/products/tea', { price: 1 })
    const commit = (read: number) =>
      running.fetch(
        '/commit',
        jsonRequest('POST', {
          reads: [{ path: '/db/shop/products/tea', version: read }],
          writes: [{ path: '/db/shop/products/mug', value: {} }],
        }),
      )
    expect((await commit(version)).status).toBe(200)
    expect((await commit(version - 1)).status).toBe(409)
    expect((await get<Conflicts>(running, '/conflicts')).items).toMatchObject([
      {
        kind: 'commit',
        changed: [{ key: 'shop/products/tea', expected: version - 1, version }],
        writes: ['shop/products/mug'],
      },
    ])
  })
})

test('the last lines of the log can be read, also those below its level', async () => {
  const written: string[] = []
  const running = await start({ log: createJsonLog({ level: 'error', write: line => written.push(line) }) })
  const { items } = await get<{ items: { message: string }[] }>(running, '/logs')
  expect(items.map(({ message }) => message)).toContain('listening')
  expect(written).toEqual([])
})

test('caches are listed without their secrets', async () => {
  const caches = [{ name: 'edge', kind: 'nginx', url: 'http://127.0.0.1:1/', secret: 'hidden-word' } as const]
  const running = await start({ caches })
  const text = await (await running.fetch('/caches')).text()
  expect(JSON.parse(text)).toMatchObject({ caches: [{ name: 'edge', kind: 'nginx', through: 'http://127.0.0.1:1' }] })
  expect(text).not.toContain('hidden-word')
})

test('the server reports its contents and settings', async () => {
  const running = await start()
  expect(await get(running, '/server')).toMatchObject({
    has: { access: false, caches: false, doctor: false, ring: false, replicas: false },
    supports: { durability: 'none' },
    position: 0,
  })
  expect(await get(running, '/nodes')).toEqual({ nodes: [], replicas: [] })
})

test('the nodes of a store are listed and counted, also while the store is unavailable', async () => {
  const store = createMemoryStore({ positionsAfter: 0 })
  const position = store.position.bind(store)
  const isLost = { now: false }
  const ring: Store = Object.assign(store, {
    nodes: () => [
      { place: 'redis://a', state: 'well', behind: 2 },
      { place: 'redis://b', state: 'emptied' },
      { place: 'redis://c', state: 'silent', behind: 7, trouble: 'no answer' },
    ],
    position: () => {
      if (isLost.now) throw new FreshetError('STORE_UNAVAILABLE', 'There is no majority.')
      return position()
    },
  })
  const running = await start({ store: ring })
  isLost.now = true
  const answer = await running.fetch('/nodes')
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(await answer.json()).toEqual({ nodes: ring.nodes!(), needed: 2, replicas: [] })
  const facts = await get<{ has: { ring: boolean } }>(running, '/server')
  expect(facts).toMatchObject({ has: { ring: true, replicas: false } })
  expect(facts).not.toHaveProperty('position')
  const metrics = await (await running.fetch('/metrics')).text()
  for (const line of ['well{node="redis://a"} 1', 'well{node="redis://b"} 0', 'behind{node="redis://c"} 7']) {
    expect(metrics).toContain(`freshet_store_node_${line}\n`)
  }
  isLost.now = false
})

describe('the doctor', () => {
  const caches = [{ name: 'edge', kind: 'varnish', url: 'http://127.0.0.1:1', secret: 'word' } as const]
  const ask = (running: RunningServer, body: unknown) => running.fetch('/doctor', jsonRequest('POST', body))

  test('is sent only to caches that the server was configured with', async () => {
    const tasks: unknown[] = []
    const running = await start({
      caches,
      doctor: async ({ onFinding, signal, ...task }) => {
        tasks.push(task)
        onFinding({ fact: 'copies' }, 1)
        return { isSafe: true }
      },
    })
    for (const body of [{ cache: 'http://127.0.0.1:2' }, { through: 'http://127.0.0.1:2' }, {}]) {
      expect(await problemOf(await ask(running, body))).toMatchObject({ status: 400, code: 'BODY_INVALID' })
    }
    expect(tasks).toEqual([])
    const lines = (await (await ask(running, { cache: 'edge' })).text()).trim().split('\n')
    expect(lines.map(line => JSON.parse(line))).toEqual([
      { finding: { fact: 'copies' }, total: 1 },
      { report: { isSafe: true } },
    ])
    expect(tasks).toEqual([{ through: 'http://127.0.0.1:1', server: running.url, purgeSecret: 'word' }])
  })

  test('runs one examination at a time, and stops when the client disconnects', async () => {
    let stopped = false
    const running = await start({
      caches,
      doctor: ({ signal, onFinding }) =>
        new Promise((_, reject) => {
          onFinding({}, 1)
          signal.addEventListener('abort', () => {
            stopped = true
            reject(signal.reason)
          })
        }),
    })
    const controller = new AbortController()
    const first = await running.fetch('/doctor', {
      ...jsonRequest('POST', { cache: 'edge' }),
      signal: controller.signal,
    })
    expect(first.status).toBe(200)
    expect(await problemOf(await ask(running, { cache: 'edge' }))).toMatchObject({ status: 503, code: 'SERVER_BUSY' })
    controller.abort()
    await expect.poll(() => stopped).toBe(true)
  })

  test('does not exist if the server was started without one', async () => {
    const running = await start({ caches })
    expect(await problemOf(await ask(running, { cache: 'edge' }))).toMatchObject({ status: 404 })
  })
})
