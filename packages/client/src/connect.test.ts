import { describe, expect, test } from 'vitest'
import { connect } from './connect.js'
import type { ConnectOptions } from './connect-options.js'
import { connectionRefused, FakeOrigin } from './testing/fake-origin.js'

const QUICK = { random: () => 0 }

function answering(status: number, body: string, type: string): ConnectOptions {
  const response = () => new Response(body, { status, headers: { 'content-type': type } })
  return { ...QUICK, fetch: async () => response() }
}

async function failure(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  return promise.then(
    () => expect.unreachable('It should have failed.'),
    error => error,
  )
}

describe('connect reports what answers instead of a Freshet server', () => {
  test('a web page', async () => {
    const error = await failure(
      connect('http://localhost:3000', answering(200, '<!doctype html><title>Shop', 'text/html')),
    )
    expect(error.code).toBe('ANSWER_INVALID')
    expect(error.message).toContain('http://localhost:3000/coherence')
    expect(error.message).toContain('answered 200')
    expect(error.message).toContain('text/html, beginning with "<!doctype html><title>Shop"')
  })

  test("another server's 404", async () => {
    const error = await failure(connect('http://localhost:3000', answering(404, '<h1>Not Found</h1>', 'text/html')))
    expect(error).toMatchObject({ code: 'REQUEST_FAILED', details: { status: 404 } })
    expect(error.message).toContain('<h1>Not Found</h1>')
  })

  test('other JSON', async () => {
    const error = await failure(connect('http://localhost:3000', answering(200, '{"ok":true}', 'application/json')))
    expect(error.code).toBe('ANSWER_INVALID')
  })

  test('no answer', async () => {
    let tries = 0
    const fetch = async () => {
      tries++
      throw connectionRefused()
    }
    const error = await failure(connect('http://localhost:7700', { ...QUICK, fetch }))
    expect(error.code).toBe('REQUEST_FAILED')
    expect(error.message).toContain('http://localhost:7700')
    expect(error.message).toContain('ECONNREFUSED')
    expect(tries).toBe(6)
  })
})

describe('connect refuses', () => {
  test.each([
    [{ stalenessMs: 5 }, 'connect has no option stalenessMs'],
    [{ staleness: -1 }, 'staleness must be a number of at least 0, not -1'],
    [{ staleness: '5' }, 'staleness must be a number of at least 0, not "5"'],
    [{ timeoutMs: 0 }, 'timeoutMs must be a number of at least 1'],
    [{ refresh: 'often' }, 'refresh must be one of on-demand, poll, push'],
    [{ read: 'newest' }, "read must be 'any', 'session', 'current' or within(ms)"],
  ])('%o', async (options, message) => {
    const error = await failure(connect('http://localhost:7700', options as ConnectOptions))
    expect(error).toMatchObject({ code: 'OPTIONS_INVALID' })
    expect(error.message).toContain(message)
  })

  test.each(['localhost:7700', 'ftp://localhost', '', 'http://localhost/?a=b'])('the address %j', async url => {
    expect(await failure(connect(url))).toMatchObject({ code: 'OPTIONS_INVALID' })
  })

  test('text that is not a token', async () => {
    const { url, fetch } = new FakeOrigin()
    expect(await failure(connect(url, { fetch, token: 'nonsense' }))).toMatchObject({ code: 'TOKEN_INVALID' })
  })

  test('a token of another store', async () => {
    const origin = new FakeOrigin()
    const { token } = (await connect(origin.url, { fetch: origin.fetch })).session
    origin.replace()
    expect(await failure(connect(origin.url, { fetch: origin.fetch, token }))).toMatchObject({ code: 'TOKEN_INVALID' })
  })
})

test('a path in the address is kept, so that a server may be behind a prefix', async () => {
  const origin = new FakeOrigin()
  const urls: string[] = []
  const fetch: ConnectOptions['fetch'] = (url, init) => {
    urls.push(url)
    return origin.fetch(url.replace('/data', ''), init!)
  }
  await connect(`${origin.url}/data/`, { fetch: fetch! })
  expect(urls[0]).toMatch(/^http:\/\/freshet\.test\/data\/coherence\?nonce=[0-9a-f]{16}$/)
})

test('no two heads are requested under the same URL, and none from a cache', async () => {
  const origin = new FakeOrigin()
  const db = await connect(origin.url, { fetch: origin.fetch })
  await db.session.refresh()
  await db.session.refresh()
  const names = origin.sent.map(({ target }) => target)
  expect(new Set(names).size).toBe(3)
  expect(new Set(origin.sent.map(({ cache }) => cache))).toEqual(new Set(['no-store']))
})
