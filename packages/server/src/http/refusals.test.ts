/** Every kind of refusal, with requests as bytes on a socket, since a well-behaved client would correct them before sending. */
import { createMemoryStore } from '@freshet/engines/memory'
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

/** The requests that are refused, by status and code. */
const REFUSED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '400 URL_INVALID': {
    'a dot segment': get('/db/shop/../x/y'),
    'a dot': get('/db/./shop/products/a'),
    'an encoded dot segment': get('/db/shop/%2e%2e/a'),
    'a half-encoded dot segment': get('/db/shop/.%2E/a'),
    'a backslash': get('/db/shop\\products/a'),
    'an encoded backslash': get('/db/shop/products/a%5cb'),
    'an encoded slash': get('/db/shop/products/a%2fb'),
    'an encoded NUL': get('/db/shop/products/a%00'),
    'an encoded line break': get('/db/shop/products/a%0d%0aX:1'),
    'two slashes': get('/db//shop/products/a'),
    'two slashes at the start': get('//evil.example/db'),
    'a slash at the end': get('/db/shop/products/'),
    'a fragment': get('/db/shop/products/a#b'),
    'bytes that are not UTF-8': get('/db/shop/products/%ff'),
    'half an escape': get('/db/shop/products/%2'),
    'an overlong encoding': get('/db/shop/products/%c0%ae'),
    'another host': get('http://evil.example/db/shop/products/a'),
    'another scheme': get('ftp://shop.example/db'),
    'a target without a slash': get('*'),
    'a write under a spelling that is not canonical': send(
      'PUT',
      '/db/shop/products/%61',
      `${JSON_BODY}Content-Length: 2\r\n`,
      '{}',
    ),
    'invalid segments': get('/coherence/segments/1'),
  },
  '414 URL_TOO_LONG': {
    'a URL that is too long': get(`/db/${'a'.repeat(9000)}`),
  },
  '400 NAME_INVALID': {
    'a name in capitals': get('/db/Shop/products/a'),
    'an id that is too long': get(`/db/shop/products/${'é'.repeat(300).replace(/é/g, '%C3%A9')}`),
  },
  '404 ROUTE_UNKNOWN': {
    'an unknown route': get('/admin'),
    'a route too deep': get('/db/a/b/c/d'),
  },
  '400 PARAMETER_INVALID': {
    'an unknown parameter': get('/db/shop/products/a?x=1'),
    'a cache buster': get('/db/shop/products/a?_=1'),
    'a parameter given twice': get('/db/shop/products/a?at=1&at=1'),
    'an empty parameter': get('/db/shop/products?prefix='),
    'an empty pair': get('/db/shop/products?limit=1&'),
    'a position with a leading zero': get('/db/shop/products/a?at=01'),
    'a negative position': get('/db/shop/products/a?at=-1'),
    'a position beyond the safe integers': get('/db/shop/products/a?at=9999999999999999'),
    'a plus in a value': get('/db/shop/products?prefix=a+b'),
    'a limit of 0': get('/db/shop/products?limit=0'),
    'ids with a range': get('/db/shop/products?ids=a&limit=1'),
    'an invalid nonce': get('/coherence?nonce=a%20b'),
    ...Object.fromEntries(
      ['/db/shop/products/a?at=', '/db/shop/products?at=', '/coherence?at='].map(target => [
        `a position that no log can have reached: ${target}`,
        get(`${target}999999999999999`),
      ]),
    ),
    'a position that no log can have reached, of a query': get('/db/shop/products?at=999999999999999&where=%7B%7D'),
  },
  '400 LIMIT_EXCEEDED': {
    'a limit that is too high': get('/db/shop/products?limit=1001'),
  },
  '503 POSITION_NOT_REACHED': {
    'a position not reached': get('/db/shop/products/a?at=1000'),
  },
  '404 OBJECT_NOT_FOUND': {
    'a missing object': get('/db/shop/products/missing'),
  },
  '404 BUCKET_NOT_FOUND': {
    'a missing bucket': get('/db/shop/missing'),
  },
  '404 SEGMENT_GONE': {
    'segments that are gone': get('/coherence/segments/8-9'),
  },
  '405 METHOD_NOT_ALLOWED': {
    PURGE: send('PURGE', '/db/shop/products/a', ''),
    TRACE: send('TRACE', '/db/shop/products/a', ''),
    'DELETE of all namespaces': send('DELETE', '/db', ''),
    'GET of a commit': get('/commit'),
    CONNECT: 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n',
  },
  '400 HEADER_INVALID': {
    'an unknown method': send('BREW', '/db', ''),
    'no host': 'GET /db HTTP/1.1\r\n\r\n',
    'no host, on the read path': 'GET /db/shop/products/a HTTP/1.1\r\n\r\n',
    'two hosts': get('/db', 'Host: other.example\r\n'),
    'an invalid host': 'GET /db HTTP/1.1\r\nHost: a b/c\r\n\r\n',
    'a header with a space in its name': get('/db', 'A b: c\r\n'),
    'a folded header': get('/db', 'A: b\r\n c\r\n\x00: d\r\n'),
    'something other than HTTP': 'hello\r\n\r\n',
    'a read with a body': `${get('/db/shop/products/a', 'Content-Length: 3\r\n')}abc`,
    'a read with a chunked body': `${get('/db/shop/products/a', 'Transfer-Encoding: chunked\r\n')}0\r\n\r\n`,
    'an unknown expectation': get('/db/shop/products/a', 'Expect: a-miracle\r\n'),
    'an If-Match without quotes': send('DELETE', '/db/shop/products/a', 'If-Match: 1\r\n'),
    'two lengths': send('PUT', '/db/shop/products/x', 'Content-Length: 2\r\nContent-Length: 3\r\n', '{} '),
    'a length and chunks': send(
      'PUT',
      '/db/shop/products/x',
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n',
      '0\r\n\r\n',
    ),
    'a negative length': send('PUT', '/db/shop/products/x', 'Content-Length: -2\r\n', '{}'),
    'a transfer coding besides chunked': send(
      'PUT',
      '/db/shop/products/x',
      'Transfer-Encoding: gzip, chunked\r\n',
      '0\r\n\r\n',
    ),
    'an invalid chunk size': send('PUT', '/db/shop/products/x', 'Transfer-Encoding: chunked\r\n', 'xyz\r\n'),
  },
  '431 HEADERS_TOO_LARGE': {
    'headers that are too large': get('/db', `X: ${'a'.repeat(40_000)}\r\n`),
  },
  '412 VERSION_CONFLICT': {
    'If-Match of another version': send('DELETE', '/db/shop/products/a', 'If-Match: "999"\r\n'),
    'If-Match of a weak tag': send('DELETE', '/db/shop/products/a', 'If-Match: W/"1"\r\n'),
  },
  '428 PRECONDITION_REQUIRED': {
    'a write without a condition where one is required': send(
      'PUT',
      '/db/shop/strict/x',
      `${JSON_BODY}Content-Length: 2\r\n`,
      '{}',
    ),
  },
  '415 CONTENT_TYPE_UNSUPPORTED': {
    'a compressed body': put('{}', `${JSON_BODY}Content-Encoding: gzip\r\n`),
    'a form': put('a=1', 'Content-Type: application/x-www-form-urlencoded\r\n'),
    'a patch that is called JSON': send('PATCH', '/db/shop/products/a', `${JSON_BODY}Content-Length: 2\r\n`, '{}'),
  },
  '413 BODY_TOO_LARGE': {
    'a body longer than allowed, announced': put(`"${'a'.repeat(1000)}"`),
    'a body longer than allowed, in chunks': send(
      'PUT',
      '/db/shop/products/x',
      'Transfer-Encoding: chunked\r\n',
      `3e9\r\n${'a'.repeat(1001)}\r\n`,
    ),
    'an enormous length without a body': send('PUT', '/db/shop/products/x', 'Content-Length: 999999999999999\r\n'),
  },
  '408 REQUEST_INCOMPLETE': {
    'a body that does not arrive': send('PUT', '/db/shop/products/x', `${JSON_BODY}Content-Length: 10\r\n`, '{'),
  },
  '400 BODY_INVALID': {
    'an empty body': put(''),
    'no JSON': put('{a:1}'),
    'a list': put('[]'),
    'a number': put('1'),
    'two objects': put('{}{}'),
    'JSON that is too deep': put(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`),
    'a byte order mark': put('\ufeff{}'),
    'settings with an unknown kind': send(
      'PUT',
      '/db/shop/other',
      `${JSON_BODY}Content-Length: 15\r\n`,
      '{"kind":"blob"}',
    ),
    'an empty commit': send('POST', '/commit', `${JSON_BODY}Content-Length: 13\r\n`, '{"writes":[]}'),
  },
}

const refused: readonly Refusal[] = Object.entries(REFUSED).flatMap(([answer, requests]) => {
  const [status = '', code = ''] = answer.split(' ')
  return Object.entries(requests).map(([what, request]) => ({ what, request, status: Number(status), code }))
})

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

  test('a refusal of a method lists the allowed ones', async () => {
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

  test('broken bytes after a complete request do not replace its answer', async () => {
    const answer = await sendRaw(running.port, `${put('{}')}}`)
    expect(answer.status).toBeLessThan(300)
    expect(JSON.parse(answer.body)).toMatchObject({ id: 'x' })
  })

  test('a condition after thousands of other headers is not lost', async () => {
    const many = 'a:\r\n'.repeat(3000)
    const answer = await sendRaw(running.port, send('DELETE', '/db/shop/products/a', `${many}If-Match: "999"\r\n`))
    expect(answer.status).toBe(412)
  })

  test('a client that expects 100-continue is refused before it sends a body that is too long', async () => {
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

  test('a client that expects 100-continue receives it, and then the answer', async () => {
    const request = send(
      'PUT',
      '/db/shop/products/x',
      `${JSON_BODY}Expect: 100-continue\r\nContent-Length: 2\r\n`,
      '{}',
    )
    expect((await sendRaw(running.port, request)).status).toBeLessThan(300)
  })
})
