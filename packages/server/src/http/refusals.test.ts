/** Everything that is refused, as bytes on a socket: a well-behaved client would tidy it up before sending it. */
import { createMemoryStore } from '@freshet/stores/memory'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningServer, sendRaw, startServer } from '../testing/running-server.js'

let running: RunningServer

beforeAll(async () => {
  running = await startServer({
    store: createMemoryStore({ positionsAfter: 0 }),
    settings: { bodyBytesMax: 1000, requestMsMax: 300, positionWaitMsMax: 20 },
  })
  await running.put('/db/shop/products/a', { a: 1 })
  await running.put('/db/shop/strict', { kind: 'object', requireMatch: true })
})
afterAll(() => running.stop())

interface Refusal {
  readonly what: string
  readonly request: string
  readonly status: number
  readonly code: string
}

const HOST = 'Host: shop.localhost\r\n'
const JSON_BODY = 'Content-Type: application/json\r\n'

function get(target: string, headers = ''): string {
  return `GET ${target} HTTP/1.1\r\n${HOST}${headers}\r\n`
}

function send(method: string, target: string, headers: string, body = ''): string {
  return `${method} ${target} HTTP/1.1\r\n${HOST}${headers}\r\n${body}`
}

function put(body: string, headers = JSON_BODY): string {
  return send('PUT', '/db/shop/products/x', `${headers}Content-Length: ${Buffer.byteLength(body)}\r\n`, body)
}

const refused: readonly Refusal[] = [
  // URLs
  { what: 'a dot segment', request: get('/db/shop/../x/y'), status: 400, code: 'URL_INVALID' },
  { what: 'a dot', request: get('/db/./shop/products/a'), status: 400, code: 'URL_INVALID' },
  { what: 'an encoded dot segment', request: get('/db/shop/%2e%2e/a'), status: 400, code: 'URL_INVALID' },
  { what: 'a half-encoded dot segment', request: get('/db/shop/.%2E/a'), status: 400, code: 'URL_INVALID' },
  { what: 'a backslash', request: get('/db/shop\\products/a'), status: 400, code: 'URL_INVALID' },
  { what: 'an encoded backslash', request: get('/db/shop/products/a%5cb'), status: 400, code: 'URL_INVALID' },
  { what: 'an encoded slash', request: get('/db/shop/products/a%2fb'), status: 400, code: 'URL_INVALID' },
  { what: 'an encoded NUL', request: get('/db/shop/products/a%00'), status: 400, code: 'URL_INVALID' },
  { what: 'an encoded line break', request: get('/db/shop/products/a%0d%0aX:1'), status: 400, code: 'URL_INVALID' },
  { what: 'two slashes', request: get('/db//shop/products/a'), status: 400, code: 'URL_INVALID' },
  { what: 'two slashes at the start', request: get('//evil.example/db'), status: 400, code: 'URL_INVALID' },
  { what: 'a slash at the end', request: get('/db/shop/products/'), status: 400, code: 'URL_INVALID' },
  { what: 'a fragment', request: get('/db/shop/products/a#b'), status: 400, code: 'URL_INVALID' },
  { what: 'bytes that are not UTF-8', request: get('/db/shop/products/%ff'), status: 400, code: 'URL_INVALID' },
  { what: 'half an escape', request: get('/db/shop/products/%2'), status: 400, code: 'URL_INVALID' },
  { what: 'an overlong encoding', request: get('/db/shop/products/%c0%ae'), status: 400, code: 'URL_INVALID' },
  { what: 'another host', request: get('http://evil.example/db/shop/products/a'), status: 400, code: 'URL_INVALID' },
  { what: 'another scheme', request: get('ftp://shop.example/db'), status: 400, code: 'URL_INVALID' },
  { what: 'a target without a slash', request: get('*'), status: 400, code: 'URL_INVALID' },
  { what: 'a URL that is too long', request: get(`/db/${'a'.repeat(9000)}`), status: 414, code: 'URL_TOO_LONG' },
  { what: 'a name in capitals', request: get('/db/Shop/products/a'), status: 400, code: 'NAME_INVALID' },
  {
    what: 'an id that is too long',
    request: get(`/db/shop/products/${'é'.repeat(300).replace(/é/g, '%C3%A9')}`),
    status: 400,
    code: 'NAME_INVALID',
  },
  { what: 'an unknown route', request: get('/admin'), status: 404, code: 'ROUTE_UNKNOWN' },
  { what: 'a route too deep', request: get('/db/a/b/c/d'), status: 404, code: 'ROUTE_UNKNOWN' },
  {
    what: 'a write under another spelling',
    request: send('PUT', '/db/shop/products/%61', `${JSON_BODY}Content-Length: 2\r\n`, '{}'),
    status: 400,
    code: 'URL_INVALID',
  },
  // Parameters
  { what: 'an unknown parameter', request: get('/db/shop/products/a?x=1'), status: 400, code: 'PARAMETER_INVALID' },
  { what: 'a cache buster', request: get('/db/shop/products/a?_=1'), status: 400, code: 'PARAMETER_INVALID' },
  {
    what: 'a parameter given twice',
    request: get('/db/shop/products/a?at=1&at=1'),
    status: 400,
    code: 'PARAMETER_INVALID',
  },
  { what: 'an empty parameter', request: get('/db/shop/products?prefix='), status: 400, code: 'PARAMETER_INVALID' },
  { what: 'an empty pair', request: get('/db/shop/products?limit=1&'), status: 400, code: 'PARAMETER_INVALID' },
  {
    what: 'a position with a zero before it',
    request: get('/db/shop/products/a?at=01'),
    status: 400,
    code: 'PARAMETER_INVALID',
  },
  { what: 'a negative position', request: get('/db/shop/products/a?at=-1'), status: 400, code: 'PARAMETER_INVALID' },
  {
    what: 'a position past what is safe',
    request: get('/db/shop/products/a?at=9999999999999999'),
    status: 400,
    code: 'PARAMETER_INVALID',
  },
  { what: 'a plus in a value', request: get('/db/shop/products?prefix=a+b'), status: 400, code: 'PARAMETER_INVALID' },
  { what: 'a limit of nothing', request: get('/db/shop/products?limit=0'), status: 400, code: 'PARAMETER_INVALID' },
  {
    what: 'a limit that is too high',
    request: get('/db/shop/products?limit=1001'),
    status: 400,
    code: 'LIMIT_EXCEEDED',
  },
  { what: 'ids with a range', request: get('/db/shop/products?ids=a&limit=1'), status: 400, code: 'PARAMETER_INVALID' },
  { what: 'a nonce that is none', request: get('/coherence?nonce=a%20b'), status: 400, code: 'PARAMETER_INVALID' },
  {
    what: 'a position not reached',
    request: get('/db/shop/products/a?at=1000'),
    status: 503,
    code: 'POSITION_NOT_REACHED',
  },
  ...['/db/shop/products/a?', '/db/shop/products?', '/db/shop/products?where=%7B%7D&', '/coherence?'].map(target => ({
    what: `a position that no log can have reached: ${target}`,
    request: get(
      `${target}at=999999999999999`.replace('?where=%7B%7D&at=999999999999999', '?at=999999999999999&where=%7B%7D'),
    ),
    status: 400,
    code: 'PARAMETER_INVALID',
  })),
  { what: 'a missing object', request: get('/db/shop/products/missing'), status: 404, code: 'OBJECT_NOT_FOUND' },
  { what: 'a missing bucket', request: get('/db/shop/missing'), status: 404, code: 'BUCKET_NOT_FOUND' },
  { what: 'segments that are none', request: get('/coherence/segments/1'), status: 400, code: 'URL_INVALID' },
  { what: 'segments that are gone', request: get('/coherence/segments/8-9'), status: 404, code: 'SEGMENT_GONE' },
  // Methods
  { what: 'PURGE', request: send('PURGE', '/db/shop/products/a', ''), status: 405, code: 'METHOD_NOT_ALLOWED' },
  { what: 'TRACE', request: send('TRACE', '/db/shop/products/a', ''), status: 405, code: 'METHOD_NOT_ALLOWED' },
  {
    what: 'DELETE of all namespaces',
    request: send('DELETE', '/db', ''),
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
  },
  { what: 'GET of a commit', request: get('/commit'), status: 405, code: 'METHOD_NOT_ALLOWED' },
  {
    what: 'CONNECT',
    request: 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n',
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
  },
  { what: 'a method nobody knows', request: send('BREW', '/db', ''), status: 400, code: 'HEADER_INVALID' },
  // Headers
  { what: 'no host', request: 'GET /db HTTP/1.1\r\n\r\n', status: 400, code: 'HEADER_INVALID' },
  {
    what: 'no host, on the read path',
    request: 'GET /db/shop/products/a HTTP/1.1\r\n\r\n',
    status: 400,
    code: 'HEADER_INVALID',
  },
  { what: 'two hosts', request: get('/db', 'Host: other.example\r\n'), status: 400, code: 'HEADER_INVALID' },
  {
    what: 'a host that is none',
    request: 'GET /db HTTP/1.1\r\nHost: a b/c\r\n\r\n',
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'headers that are too large',
    request: get('/db', `X: ${'a'.repeat(40_000)}\r\n`),
    status: 431,
    code: 'HEADERS_TOO_LARGE',
  },
  { what: 'a header with a space in its name', request: get('/db', 'A b: c\r\n'), status: 400, code: 'HEADER_INVALID' },
  { what: 'a folded header', request: get('/db', 'A: b\r\n c\r\n\x00: d\r\n'), status: 400, code: 'HEADER_INVALID' },
  { what: 'something else than HTTP', request: 'hello\r\n\r\n', status: 400, code: 'HEADER_INVALID' },
  {
    what: 'a read with a body',
    request: `${get('/db/shop/products/a', 'Content-Length: 3\r\n')}abc`,
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'a read with a chunked body',
    request: `${get('/db/shop/products/a', 'Transfer-Encoding: chunked\r\n')}0\r\n\r\n`,
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'an expectation nobody meets',
    request: get('/db/shop/products/a', 'Expect: a-miracle\r\n'),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'an If-Match without quotes',
    request: send('DELETE', '/db/shop/products/a', 'If-Match: 1\r\n'),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'If-Match of another version',
    request: send('DELETE', '/db/shop/products/a', 'If-Match: "999"\r\n'),
    status: 412,
    code: 'VERSION_CONFLICT',
  },
  {
    what: 'If-Match of a weak tag',
    request: send('DELETE', '/db/shop/products/a', 'If-Match: W/"1"\r\n'),
    status: 412,
    code: 'VERSION_CONFLICT',
  },
  {
    what: 'a write without a condition where one is required',
    request: send('PUT', '/db/shop/strict/x', `${JSON_BODY}Content-Length: 2\r\n`, '{}'),
    status: 428,
    code: 'PRECONDITION_REQUIRED',
  },
  // Bodies
  {
    what: 'two lengths',
    request: send('PUT', '/db/shop/products/x', 'Content-Length: 2\r\nContent-Length: 3\r\n', '{} '),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'a length and chunks',
    request: send('PUT', '/db/shop/products/x', 'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'a negative length',
    request: send('PUT', '/db/shop/products/x', 'Content-Length: -2\r\n', '{}'),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'a transfer coding besides chunked',
    request: send('PUT', '/db/shop/products/x', 'Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'a chunk size that is none',
    request: send('PUT', '/db/shop/products/x', 'Transfer-Encoding: chunked\r\n', 'xyz\r\n'),
    status: 400,
    code: 'HEADER_INVALID',
  },
  {
    what: 'a compressed body',
    request: put('{}', `${JSON_BODY}Content-Encoding: gzip\r\n`),
    status: 415,
    code: 'CONTENT_TYPE_UNSUPPORTED',
  },
  {
    what: 'a form',
    request: put('a=1', 'Content-Type: application/x-www-form-urlencoded\r\n'),
    status: 415,
    code: 'CONTENT_TYPE_UNSUPPORTED',
  },
  {
    what: 'a body longer than allowed, announced',
    request: put(`"${'a'.repeat(1000)}"`),
    status: 413,
    code: 'BODY_TOO_LARGE',
  },
  {
    what: 'a body longer than allowed, in chunks',
    request: send('PUT', '/db/shop/products/x', 'Transfer-Encoding: chunked\r\n', `3e9\r\n${'a'.repeat(1001)}\r\n`),
    status: 413,
    code: 'BODY_TOO_LARGE',
  },
  {
    what: 'an enormous length, of which nothing comes',
    request: send('PUT', '/db/shop/products/x', 'Content-Length: 999999999999999\r\n'),
    status: 413,
    code: 'BODY_TOO_LARGE',
  },
  {
    what: 'a body that does not come',
    request: send('PUT', '/db/shop/products/x', `${JSON_BODY}Content-Length: 10\r\n`, '{'),
    status: 408,
    code: 'REQUEST_INCOMPLETE',
  },
  { what: 'an empty body', request: put(''), status: 400, code: 'BODY_INVALID' },
  { what: 'no JSON', request: put('{a:1}'), status: 400, code: 'BODY_INVALID' },
  { what: 'a list', request: put('[]'), status: 400, code: 'BODY_INVALID' },
  { what: 'a number', request: put('1'), status: 400, code: 'BODY_INVALID' },
  { what: 'two objects', request: put('{}{}'), status: 400, code: 'BODY_INVALID' },
  {
    what: 'JSON that is too deep',
    request: put(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`),
    status: 400,
    code: 'BODY_INVALID',
  },
  { what: 'a byte order mark', request: put('\ufeff{}'), status: 400, code: 'BODY_INVALID' },
  {
    what: 'a patch that is called JSON',
    request: send('PATCH', '/db/shop/products/a', `${JSON_BODY}Content-Length: 2\r\n`, '{}'),
    status: 415,
    code: 'CONTENT_TYPE_UNSUPPORTED',
  },
  {
    what: 'settings with a kind nobody knows',
    request: send('PUT', '/db/shop/other', `${JSON_BODY}Content-Length: 15\r\n`, '{"kind":"blob"}'),
    status: 400,
    code: 'BODY_INVALID',
  },
  {
    what: 'an empty commit',
    request: send('POST', '/commit', `${JSON_BODY}Content-Length: 13\r\n`, '{"writes":[]}'),
    status: 400,
    code: 'BODY_INVALID',
  },
]

describe('refusals', () => {
  test.each(refused)('$what is refused with $status $code, which no cache keeps', async ({ request, status, code }) => {
    const answer = await sendRaw(running.port, Buffer.from(request, 'utf8'))
    expect(answer.body).toContain(code)
    expect(answer.status).toBe(status)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(JSON.parse(answer.body)).toMatchObject({
      status,
      code,
      type: `/errors/${code}`,
      requestId: expect.any(String),
    })
  })

  test('a refusal of a method says which are allowed', async () => {
    const answer = await sendRaw(running.port, send('PURGE', '/db/shop/products/a', ''))
    expect(answer.headers.get('allow')).toBe('GET, HEAD, PUT, PATCH, POST, DELETE, OPTIONS')
  })

  test('a body that is not UTF-8 is refused', async () => {
    const head = send('PUT', '/db/shop/products/x', `${JSON_BODY}Content-Length: 9\r\n`)
    const answer = await sendRaw(
      running.port,
      Buffer.concat([Buffer.from(`${head}{"a":"`), Buffer.from([0xff]), Buffer.from('"}')]),
    )
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'BODY_INVALID' })
  })

  test('a refused body is not taken for the next request', async () => {
    const smuggled = get('/db/shop/products/a')
    const request = send(
      'PUT',
      '/db/shop/products/x',
      `Content-Encoding: gzip\r\nContent-Length: ${smuggled.length}\r\n`,
      smuggled,
    )
    const answer = await sendRaw(running.port, request)
    expect(answer.status).toBe(415)
    expect(answer.headers.get('connection')).toBe('close')
  })

  test('what is broken behind a whole request does not take the place of its answer', async () => {
    const answer = await sendRaw(running.port, `${put('{}')}}`)
    expect(answer.status).toBeLessThan(300)
    expect(JSON.parse(answer.body)).toMatchObject({ id: 'x' })
  })

  test('a condition is not lost behind thousands of other headers', async () => {
    const many = 'a:\r\n'.repeat(3000)
    const answer = await sendRaw(running.port, send('DELETE', '/db/shop/products/a', `${many}If-Match: "999"\r\n`))
    expect(answer.status).toBe(412)
  })

  test('who asks before sending too much is refused before sending it', async () => {
    const request = send('PUT', '/db/shop/products/x', 'Expect: 100-continue\r\nContent-Length: 5000\r\n')
    expect((await sendRaw(running.port, request)).status).toBe(413)
  })

  test('the refusal of a form says how to send it', async () => {
    const { body } = await sendRaw(running.port, put('a=1', 'Content-Type: application/x-www-form-urlencoded\r\n'))
    expect(body).toContain('Content-Type: application/json')
    expect(body).toContain('kv')
  })
})

describe('spellings', () => {
  test.each([
    ['/db/shop/products/%61', '/db/shop/products/a'],
    ['/%64b/shop/products/a', '/db/shop/products/a'],
    ['/db/shop/products/a%7Eb', '/db/shop/products/a~b'],
    ['/db/shop/products/%c3%a9', '/db/shop/products/%C3%A9'],
    ['/db/shop/products/a:b', '/db/shop/products/a%3Ab'],
    ['/db/shop/products/a?', '/db/shop/products/a'],
    ['/db/shop/products?limit=5&embed', '/db/shop/products?embed&limit=5'],
    ['/db/shop/products?embed=true', '/db/shop/products?embed'],
    ['/db/shop/products?ids=a,%62', '/db/shop/products?ids=a,b'],
    ['/coherence?nonce=x&after=0', '/coherence?after=0&nonce=x'],
  ])('%s is redirected to %s', async (spelling, canonical) => {
    const answer = await sendRaw(running.port, get(spelling))
    expect(answer.status).toBe(308)
    expect(answer.headers.get('location')).toBe(canonical)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  test('an absolute target that agrees with the Host header is answered', async () => {
    const answer = await sendRaw(running.port, get('http://shop.localhost/db/shop/products/a'))
    expect(answer.status).toBe(200)
  })

  test('who expects to be told to go on is told, and is answered', async () => {
    const request = send(
      'PUT',
      '/db/shop/products/x',
      `${JSON_BODY}Expect: 100-continue\r\nContent-Length: 2\r\n`,
      '{}',
    )
    expect((await sendRaw(running.port, request)).status).toBeLessThan(300)
  })
})
