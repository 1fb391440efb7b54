/** Requests of people who try every door, and of programs that never learnt HTTP: as bytes, drawn from a seed. */
import type { Random } from '../harness/random.js'
import type { Person } from './tenants-server.js'

export interface HostileRequest {
  readonly person: Person
  readonly bytes: Buffer
  /** Something besides the caller is wrong: its method, version, headers, body or bytes. */
  readonly isMalformed: boolean
}

const BUCKETS = [
  '/db/acme/notes',
  '/db/globex/notes',
  '/db/acme/mine',
  '/db/globex/mine',
  '/db/acme/news',
  '/db/acme/scratch',
]
const ENDS = [
  ...[
    '',
    '/1',
    '/2',
    '/9',
    '/1',
    '/1?at=1',
    '?embed',
    '?embed&limit=2',
    '?embed&ids=1,2,9',
    '?sort=text',
    '?where=i==1',
  ],
  ...['?sum', '?settings', '?schemas', '?explain&sort=text', '/%31', '/1/x.css', '/1%2Fx.css', '/1;x.css', '/1?x.css'],
  ...[
    '/1%00',
    '/1?',
    '/1#',
    '/1?at=1&at=1',
    '/./1',
    '/../notes/1',
    '/%2e%2e/notes/1',
    '//1',
    '/1/',
    '\\1',
    '/1%20',
    '/1%0d%0aX:1',
  ],
]
const OTHERS = [
  ...['/', '/db', '/db/acme', '/db/globex', '/metrics', '/audit', '/access', '/tasks', '/idempotency', '/openapi.json'],
  ...[
    '/coherence',
    '/coherence?after=1',
    '/coherence/filter',
    '/coherence/segments/0-1',
    '/time',
    '/commit',
    '/sql',
    '/global',
  ],
  ...[
    '/db/globex/news/../../acme/notes/1',
    '/db/globex/news/..%2f..%2facme/notes/1',
    '/DB/acme/notes/1',
    '//acme/notes/1',
  ],
  ...[
    '/db/_freshet/audit',
    '/db/%5ffreshet/audit',
    '/db/_freshet/access/rules',
    '*',
    'http://127.0.0.1/db/acme/notes/1',
    '/%',
    '/é',
  ],
]
const METHODS = [
  ...[
    'GET',
    'GET',
    'GET',
    'GET',
    'GET',
    'GET',
    'HEAD',
    'PUT',
    'POST',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'PURGE',
    'BAN',
    'TRACE',
  ],
  ...['get', 'G\0T', 'REFRESH', ''],
]
const HEADERS = [
  ...['X-Original-URL: /db/acme/notes/1', 'X-Rewrite-URL: /db/acme/notes/1', 'X-Forwarded-Host: evil.example'],
  ...['X-HTTP-Method-Override: DELETE', 'X-Forwarded-For: 127.0.0.1', 'Forwarded: for=127.0.0.1', 'Via: 1.1 x'],
  ...[
    'Connection: Authorization',
    'Connection: close, Authorization',
    'Cache-Control: no-cache',
    'Cache-Control: only-if-cached',
  ],
  ...[
    'Cache-Control: max-stale=9999',
    'Pragma: no-cache',
    'Range: bytes=0-9',
    'If-None-Match: *',
    'If-None-Match: "1"',
  ],
  ...[
    'If-Match: *',
    'If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT',
    'Accept-Encoding: gzip',
    'Accept: text/html',
    'Cookie: a=b',
  ],
  ...[
    'Origin: https://evil.example',
    'Content-Type: application/json',
    'Content-Type: text/html',
    'Idempotency-Key: k-1',
  ],
  ...[
    'Content-Length: 2',
    'Content-Length: -1',
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: \x0bchunked',
    'Expect: 100-continue',
  ],
  ...[
    'Host: evil.example',
    'No colon',
    'A\0: b',
    ': x',
    ' folded: 1',
    `X: ${'x'.repeat(9000)}`,
    'Upgrade: h2c',
    'TE: trailers',
  ],
  ...[
    'Authorization: Bearer',
    'Authorization: Basic YTpi',
    'authorization: bearer x.y.z',
    'Freshet-Purge-Secret: change-me',
  ],
]
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/1.9',
  'HTTP/2.0',
  '',
]
const BODIES = [
  '',
  '{}',
  '{"a":1}',
  '{"writes":[{"path":"/db/acme/notes/1","delete":true}]}',
  '0\r\n\r\n',
  '\xff\xfe',
  '['.repeat(500),
]
const MANGLED_SHARE = 0.1

export function makeRequest(random: Random, people: readonly Person[]): HostileRequest {
  // Mostly users with permissions, so that there is something that others could be shown.
  const person = random.pick(random.float() < 0.5 ? people.filter(({ tenant }) => tenant !== undefined) : people)
  const target = random.float() < 0.75 ? random.pick(BUCKETS) + random.pick(ENDS) : random.pick(OTHERS)
  // Half of the requests are valid, except perhaps for the caller: their answers could be cached, and shown to others.
  const isPlain = random.float() < 0.5
  const method = isPlain ? 'GET' : random.pick(METHODS)
  const more = isPlain ? [] : Array.from({ length: random.below(4) }, () => random.pick(HEADERS))
  const body = isPlain || random.float() < 0.6 ? '' : random.pick(BODIES)
  const hasLength = body !== '' && random.float() < 0.8
  const lines = [
    `${method} ${target} ${isPlain ? 'HTTP/1.1' : random.pick(VERSIONS)}`,
    'Host: 127.0.0.1',
    'Connection: close',
    ...(person.token === undefined ? [] : [`Authorization: Bearer ${person.token}`]),
    ...(hasLength ? [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`] : []),
    ...random.shuffle(more),
  ]
  const bytes = Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1')
  if (isPlain) return { person, bytes, isMalformed: false }
  return { person, bytes: random.float() < MANGLED_SHARE ? mangled(bytes, random) : bytes, isMalformed: true }
}

/** Replaces one byte near the request line. The token is left alone, or it could become another user's. */
function mangled(bytes: Buffer, random: Random): Buffer {
  const copy = Buffer.from(bytes)
  copy[random.below(Math.min(40, copy.length))] = random.below(256)
  return copy
}
