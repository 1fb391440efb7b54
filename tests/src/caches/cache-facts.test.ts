/**
 * Measured behaviour of real caches, at their defaults unless a test says otherwise. The protocol relies on it: if a new version
 * of a cache behaves differently, these tests show it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { endCaches, type RunningCache } from '@freshet/lab/dist/caches/cache-process.js'
import { startNginx } from '@freshet/lab/dist/caches/nginx.js'
import { startSquid } from '@freshet/lab/dist/caches/squid.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { type ScriptedOrigin, startScriptedOrigin } from './scripted-origin.js'

const PLAIN = { 'Cache-Control': 'public, max-age=60' }
/** The headers of one of Freshet's answers. */
const FRESHET = { 'Cache-Control': 'public, max-age=1, must-revalidate, stale-while-revalidate=0' }
/** Long enough for the steps of a test, even on a busy machine. */
const SLOW_MS = 1000
const ATTEMPTS_MAX = 5

/** Without our configuration, except for Squid, which does nothing without one. */
const bare = {
  varnish: (origin: ScriptedOrigin) => startVarnish({ origin: origin.url, rules: '' }),
  squid: (origin: ScriptedOrigin) => startSquid({ origin: origin.url }),
  nginx: (origin: ScriptedOrigin) => startNginx({ origin: origin.url, rules: '' }),
}
type Kind = keyof typeof bare

const origins: ScriptedOrigin[] = []

async function createOrigin(headers: Readonly<Record<string, string>> = PLAIN): Promise<ScriptedOrigin> {
  const origin = await startScriptedOrigin(headers)
  origins.push(origin)
  return origin
}

async function scene(kind: Kind, headers?: Readonly<Record<string, string>>) {
  const origin = await createOrigin(headers)
  return { origin, cache: await bare[kind](origin) }
}

async function get(cache: RunningCache, path: string, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(cache.url + path, { headers })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

/** Whether a race, repeated under a new URL each time, ever ends as described. */
async function canEnd(race: (path: string) => Promise<boolean>): Promise<boolean> {
  for (let i = 0; i < ATTEMPTS_MAX; i++) if (await race(`/race${i}`)) return true
  return false
}

/** Resolves when the next request has arrived there. */
async function arrivalAt({ asked }: ScriptedOrigin): Promise<void> {
  const before = asked.length
  await vi.waitUntil(() => asked.length > before, { timeout: 30_000, interval: 5 })
}

function skips(...kinds: readonly Kind[]): boolean {
  return kinds.some(kind => reasonToSkip(kind) !== undefined)
}

afterEach(async () => {
  await endCaches()
  await Promise.all(origins.splice(0).map(origin => origin.stop()))
})
afterAll(endCaches)

describe('a request to revalidate', () => {
  test.skipIf(skips('varnish'))('is ignored by Varnish, which answers 304 for an outdated copy', async () => {
    await expectIgnored('varnish')
  })

  test.skipIf(skips('nginx'))('is ignored by nginx, which answers 304 for an outdated copy', async () => {
    await expectIgnored('nginx')
  })

  test.skipIf(skips('squid'))('is honoured by Squid', async () => {
    const { origin, cache } = await scene('squid')
    await get(cache, '/a')
    origin.version = 2
    expect((await get(cache, '/a')).text).toBe('1')
    expect((await get(cache, '/a', { 'Cache-Control': 'max-age=0' })).text).toBe('2')
  })

  async function expectIgnored(kind: Kind): Promise<void> {
    const { origin, cache } = await scene(kind)
    await get(cache, '/a')
    origin.version = 2
    for (const value of ['no-cache', 'max-age=0']) {
      expect((await get(cache, '/a', { 'Cache-Control': value })).text).toBe('1')
    }
    const revalidated = await get(cache, '/a', { 'Cache-Control': 'max-age=0', 'If-None-Match': '"1"' })
    expect(revalidated.status).toBe(304)
    expect(origin.asked).toHaveLength(1)
  }

  test.skipIf(skips('squid'))('is joined by Squid, with collapsed forwarding, to an earlier one', async () => {
    const origin = await createOrigin()
    const cache = await startSquid({ origin: origin.url, isCollapsing: true })
    const isStale = await canEnd(async path => {
      await get(cache, path)
      const arrived = arrivalAt(origin)
      origin.delaysMs.push(SLOW_MS)
      const earlier = get(cache, path, { 'Cache-Control': 'max-age=0' })
      await arrived
      const written = ++origin.version
      const later = await get(cache, path, { 'Cache-Control': 'max-age=0' })
      await earlier
      return Number(later.text) < written
    })
    expect(isStale).toBe(true)
  })
})

describe('a purge during a fill', () => {
  test.skipIf(skips('varnish'))('leaves the old copy in Varnish', async () => {
    const origin = await createOrigin()
    expect(await canBeLost(origin, await startVarnish({ origin: origin.url }))).toBe(true)
  })

  test.skipIf(skips('squid'))('leaves the old copy in Squid', async () => {
    const origin = await createOrigin()
    expect(await canBeLost(origin, await startSquid({ origin: origin.url }))).toBe(true)
  })

  function canBeLost(origin: ScriptedOrigin, cache: RunningCache): Promise<boolean> {
    return canEnd(async path => {
      const arrived = arrivalAt(origin)
      origin.delaysMs.push(SLOW_MS)
      const filling = get(cache, path)
      await arrived
      const written = ++origin.version
      await fetch(cache.url + path, { method: 'PURGE', headers: { 'Freshet-Purge-Secret': cache.secret } })
      await filling
      return Number((await get(cache, path)).text) < written
    })
  }
})

describe('a slow and older answer overwrites a newer copy', () => {
  test.skipIf(skips('varnish'))('in Varnish, when a miss is forced', async () => {
    const origin = await createOrigin()
    const rules = 'sub vcl_recv { if (req.http.Renew) { set req.hash_always_miss = true; } }'
    const cache = await startVarnish({ origin: origin.url, rules })
    expect(
      await canReturn(
        origin,
        path => get(cache, path, { Renew: '1' }),
        path => get(cache, path),
      ),
    ).toBe(true)
  })

  test.skipIf(skips('nginx'))('in nginx, when it is bypassed', async () => {
    const origin = await createOrigin()
    const cache = await startNginx({ origin: origin.url })
    const secret = { 'Freshet-Purge-Secret': cache.secret }
    expect(
      await canReturn(
        origin,
        path => get(cache, path, secret),
        path => get(cache, path),
      ),
    ).toBe(true)
  })

  type Ask = (path: string) => Promise<{ readonly text: string }>

  function canReturn(origin: ScriptedOrigin, renew: Ask, ask: Ask): Promise<boolean> {
    return canEnd(async path => {
      await ask(path)
      const arrived = arrivalAt(origin)
      origin.delaysMs.push(SLOW_MS)
      const older = renew(path)
      await arrived
      const written = ++origin.version
      expect(Number((await renew(path)).text)).toBe(written)
      await older
      return Number((await ask(path)).text) < written
    })
  }
})

describe('after the lifetime', () => {
  test.skipIf(skips('varnish'))('Varnish serves on, despite must-revalidate', async () => {
    const { origin, cache } = await scene('varnish', { 'Cache-Control': 'public, max-age=1, must-revalidate' })
    await get(cache, '/a')
    origin.version = 2
    await delay(2100)
    expect((await get(cache, '/a')).text).toBe('1')
  })

  test.skipIf(skips('varnish'))('Varnish does not serve on if the answer has stale-while-revalidate=0', async () => {
    await expectExpired('varnish')
  })

  test.skipIf(skips('squid'))('Squid does not serve on', async () => {
    await expectExpired('squid')
  })

  test.skipIf(skips('nginx'))('nginx does not serve on', async () => {
    await expectExpired('nginx')
  })

  async function expectExpired(kind: Kind): Promise<void> {
    const { origin, cache } = await scene(kind, FRESHET)
    await get(cache, '/a')
    origin.version = 2
    await delay(2100)
    expect((await get(cache, '/a')).text).toBe('2')
  }
})

describe('Age', () => {
  test.skipIf(skips('varnish', 'squid'))('is counted and sent by Varnish and Squid', async () => {
    for (const kind of ['varnish', 'squid'] as const) {
      const { origin, cache } = await scene(kind, {
        'Cache-Control': 'max-age=60, stale-while-revalidate=0',
        Age: '58',
      })
      expect(Number((await get(cache, '/a')).headers.get('age'))).toBeGreaterThanOrEqual(58)
      origin.version = 2
      await delay(2600)
      expect([kind, (await get(cache, '/a')).text]).toEqual([kind, '2'])
    }
  })

  test.skipIf(skips('nginx'))('is neither counted nor sent by nginx, which also gives a copy a new Date', async () => {
    const { origin, cache } = await scene('nginx')
    const first = await get(cache, '/a')
    await delay(1100)
    const second = await get(cache, '/a')
    expect(second.headers.get('age')).toBeNull()
    expect(second.headers.get('date')).not.toBe(first.headers.get('date'))
    origin.headers = { 'Cache-Control': 'public, max-age=60', Age: '60' }
    await get(cache, '/old')
    await get(cache, '/old')
    expect(origin.asked.filter(({ url }) => url === '/old')).toHaveLength(1)
  })
})

describe('a permission (Authorization)', () => {
  const permission = { Authorization: 'Bearer one' }

  test.skipIf(skips('nginx'))('does not keep nginx from reusing the answer for another client', async () => {
    const { origin, cache } = await scene('nginx', { 'Cache-Control': 'max-age=60' })
    await get(cache, '/a', permission)
    await get(cache, '/a')
    expect(origin.asked).toHaveLength(1)
  })

  test.skipIf(skips('varnish'))('keeps Varnish from storing', async () => {
    const { origin, cache } = await scene('varnish', { 'Cache-Control': 'max-age=60' })
    await get(cache, '/a', permission)
    await get(cache, '/a')
    expect(origin.asked).toHaveLength(2)
  })
})

describe('a write through the cache', () => {
  test.skipIf(skips('squid'))('makes Squid drop its copy of that URL', async () => {
    expect(await readAfterWrite('squid')).toBe('2')
  })

  test.skipIf(skips('varnish', 'nginx'))('does not affect Varnish and nginx', async () => {
    expect([await readAfterWrite('varnish'), await readAfterWrite('nginx')]).toEqual(['1', '1'])
  })

  async function readAfterWrite(kind: Kind): Promise<string> {
    const { origin, cache } = await scene(kind)
    await get(cache, '/a')
    origin.version = 2
    await fetch(`${cache.url}/a`, { method: 'PUT', body: '2' })
    return (await get(cache, '/a')).text
  }
})

test.skipIf(skips('varnish', 'nginx'))('PURGE is passed on by Varnish and nginx as distributed', async () => {
  for (const kind of ['varnish', 'nginx'] as const) {
    const { origin, cache } = await scene(kind)
    await fetch(`${cache.url}/a`, { method: 'PURGE' })
    expect([kind, origin.asked.map(({ method }) => method)]).toEqual([kind, ['PURGE']])
  }
})

test.skipIf(skips('varnish', 'squid', 'nginx'))('CDN-Cache-Control is not honoured by any of them', async () => {
  for (const kind of ['varnish', 'squid', 'nginx'] as const) {
    const { origin, cache } = await scene(kind, { 'Cache-Control': 'max-age=0', 'CDN-Cache-Control': 'max-age=60' })
    await get(cache, '/a')
    await get(cache, '/a')
    expect([kind, origin.asked.length]).toEqual([kind, 2])
  }
})
