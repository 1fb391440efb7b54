import { describe, expect, test } from 'vitest'
import { AuthorizedFetch } from './authorization.js'

const BASE = 'http://freshet.test'

/** Accepts these tokens, and records what was sent. */
function origin(believed: () => readonly string[]) {
  const seen: (string | null)[] = []
  const fetch = async (_url: string, init: RequestInit) => {
    const header = new Headers(init.headers).get('authorization')
    seen.push(header)
    return new Response('x', { status: believed().includes(header ?? '') ? 200 : 401 })
  }
  return { fetch, seen }
}

describe('a connection with a token', () => {
  test('sends it with the other headers', async () => {
    const { fetch, seen } = origin(() => ['Bearer a'])
    const response = await new AuthorizedFetch(fetch, 'a', BASE).fetch('/x', { headers: { 'if-match': '1' } })
    expect([response.status, seen]).toEqual([200, ['Bearer a']])
  })

  test('gets a token once for all waiting requests, and again when it is refused', async () => {
    let made = 0
    let good = 1
    const { fetch, seen } = origin(() => [`Bearer ${good}`])
    const { fetch: send } = new AuthorizedFetch(fetch, async () => `${++made}`, BASE)
    await Promise.all([send('/a', {}), send('/b', {})])
    expect([made, seen]).toEqual([1, ['Bearer 1', 'Bearer 1']])
    good = 2
    const renewed = await Promise.all([send('/a', {}), send('/b', {}), send('/c', {})])
    expect([made, renewed.map(({ status }) => status)]).toEqual([2, [200, 200, 200]])
  })

  test('does not ask forever', async () => {
    let made = 0
    const { fetch, seen } = origin(() => [])
    const response = await new AuthorizedFetch(fetch, () => `${++made}`, BASE).fetch('/x', {})
    expect([response.status, made, seen.length]).toEqual([401, 2, 2])
    expect((await new AuthorizedFetch(fetch, 'fixed', BASE).fetch('/x', {})).status).toBe(401)
    expect(seen.length).toBe(3)
  })

  test('tries again after getting a token failed', async () => {
    let made = 0
    const { fetch } = origin(() => ['Bearer ok'])
    const { fetch: send } = new AuthorizedFetch(
      fetch,
      async () => {
        if (++made === 1) throw new Error('offline')
        return 'ok'
      },
      BASE,
    )
    await expect(send('/x', {})).rejects.toThrow('offline')
    expect((await send('/x', {})).status).toBe(200)
  })
})

describe('requests for what everyone may read carry no token:', () => {
  const OPEN = { read: ['shop/products', '*/news'], list: ['shop/products', 'shop/secrets'] }

  /** Whether each of these requests was sent with the token. */
  async function sentWithToken(targets: readonly string[], init: RequestInit = {}): Promise<boolean[]> {
    const seen: (string | null)[] = []
    const fetch = async (_url: string, sent: RequestInit) => {
      seen.push(new Headers(sent.headers).get('authorization'))
      return new Response('x')
    }
    const authorized = new AuthorizedFetch(fetch, 'a', BASE)
    authorized.learn(OPEN)
    for (const target of targets) await authorized.fetch(BASE + target, { method: 'GET', ...init })
    return seen.map(header => header !== null)
  }

  test('objects of open buckets, also by a pattern, and lists of buckets that are open to lists as well', async () => {
    const open = ['/db/shop/products/1', '/db/shop/products/1?at=5', '/db/acme/news/1', '/db/shop/products?limit=2']
    expect(await sentWithToken(open)).toEqual([false, false, false, false])
  })

  test('the sketch, which contains only hashes', async () => {
    expect(await sentWithToken(['/coherence?nonce=1', '/coherence/segments/1-2', '/time'])).toEqual([
      false,
      false,
      false,
    ])
  })

  test('and no other requests', async () => {
    const closed = [
      ...['/db/shop/secrets/1', '/db/shop/secrets', '/db/acme/news', '/db/acme/products/1', '/db/shop', '/tasks'],
      ...['/db/shop/products?explain&where=%7B%7D', '/db/_freshet/news/1', '/openapi.json', '/coherencex'],
    ]
    expect(await sentWithToken(closed)).toEqual(closed.map(() => true))
    expect(await sentWithToken(['/db/shop/products/1'], { method: 'PUT' })).toEqual([true])
  })

  test('until one is refused: then the token is sent, until a head says otherwise', async () => {
    const { fetch, seen } = origin(() => ['Bearer a'])
    const authorized = new AuthorizedFetch(fetch, 'a', BASE)
    authorized.learn(OPEN)
    const read = async () => (await authorized.fetch(`${BASE}/db/shop/products/1`, { method: 'GET' })).status
    expect([await read(), await read()]).toEqual([200, 200])
    expect(seen).toEqual([null, 'Bearer a', 'Bearer a'])
    authorized.learn(OPEN)
    await read()
    expect(seen.slice(3)).toEqual([null, 'Bearer a'])
  })

  test('and none if the server named no open buckets, as earlier versions do', async () => {
    const { fetch, seen } = origin(() => ['Bearer a'])
    const authorized = new AuthorizedFetch(fetch, 'a', BASE)
    authorized.learn(undefined)
    await authorized.fetch(`${BASE}/db/shop/products/1`, { method: 'GET' })
    expect(seen).toEqual(['Bearer a'])
  })
})
