/** Requests to every door: each route of the server with each method, in every kind of spelling, with many headers and bodies. */
import type { Random } from '../harness/random.js'
import { HIDDEN_IDS } from './twin-servers.js'

export interface DoorRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS', 'PURGE'] as const

const NAMESPACES = ['acme', 'acme', 'acme', 'globex', 'absent', '_freshet', 'ACME']
const BUCKETS = [
  ...['mine', 'mine', 'mine', 'notes', 'news', 'links', 'tally', 'vault'],
  ...['objects', 'others', 'twisted', 'absent', 'access'],
]
const IDS = [...HIDDEN_IDS, 'bob-1', 'bob-9', '1', 'ann-1', 'rules', 'a b', 'é', "it's", '%', 'x'.repeat(600)]
const QUERIES = [
  ...[
    '',
    '',
    '',
    'embed',
    'embed=1',
    'limit=1',
    'limit=2&embed',
    'embed&limit=1000',
    'limit=0',
    'limit=x',
    'at=1',
    'at=99999',
    'at=-1',
  ],
  ...[
    'ids=h-both,bob-1',
    'ids=h-first,h-second',
    'prefix=h',
    'prefix=h-f',
    'from=h&to=i',
    'after=h-a',
    'settings',
    'schemas',
    'settings&embed',
  ],
  ...[
    'sum',
    'top=3',
    'top=0',
    'sort=n',
    'sort=-n',
    'sort=n,-owner',
    'sort=n&limit=1',
    'fields=n,e',
    'fields=n%2Ce',
    'fields=owner',
  ],
  ...[
    'where={"n":1}',
    'where={"n":7}',
    'where={"owner":"ann"}',
    'where={"b":1,"a":2}',
    'where=%7B%22n%22%3A9%7D',
    'where={"n":{"$gt":1}}',
  ],
  ...[
    'explain&sort=n',
    'explain&where={"n":1}',
    'where={',
    'where=1',
    'x=1',
    'at=1&at=1',
    'limit=2&embed&at=1',
    'sort=n&embed',
    'after=AAAA&sort=n',
  ],
  ...['nonce=a', 'since=0', 'after=0&limit=5', 'of=acme', 'q=select+1', 'q=select%201'],
]
const HEADERS: readonly Readonly<Record<string, string>>[] = [
  ...[{}, {}, {}, { 'content-type': 'application/json' }, { 'content-type': 'application/json' }],
  ...[{ 'content-type': 'text/html' }, { 'content-type': 'application/merge-patch+json' }, { 'content-type': ';' }],
  ...[
    { 'if-match': '"1"' },
    { 'if-match': '*' },
    { 'if-match': 'x' },
    { 'if-none-match': '*' },
    { 'if-none-match': '"9", "15"' },
  ],
  ...[
    { 'idempotency-key': 'k-1' },
    { 'idempotency-key': 'k 2' },
    { accept: 'text/html' },
    { accept: 'application/x-ndjson' },
  ],
  ...[
    { 'accept-encoding': 'br' },
    { range: 'bytes=0-3' },
    { origin: 'https://evil.example' },
    { 'x-forwarded-for': '10.0.0.1' },
  ],
  ...[
    { 'x-http-method-override': 'DELETE' },
    { 'content-encoding': 'gzip' },
    { expect: '100-continue' },
    { 'last-event-id': '1' },
  ],
]
const BODIES = [
  ...[
    '',
    '{}',
    '{"owner":"bob","n":5}',
    '{"owner":"eve"}',
    '{"owner":"ann"}',
    '{"add":1}',
    '{"additions":[{"id":"ann-1","add":1}]}',
  ],
  ...[
    '{"to":"h-both"}',
    '{"to":"h-first"}',
    '{"to":"bob-1"}',
    '{"kind":"kv"}',
    '5',
    '[',
    '{"a":1,"a":2}',
    '{"rules":""}',
    `${'['.repeat(99)}`,
  ],
  ...[
    '{"reads":[{"path":"/db/acme/mine/h-both","version":9}],"writes":[]}',
    '{"reads":[{"path":"/db/acme/mine/h-first","version":0}],"writes":[]}',
  ],
  ...[
    '{"lists":[{"path":"/db/acme/mine","version":9,"prefix":"h"}],"writes":[]}',
    '{"lists":[{"path":"/db/acme/notes","version":9}],"writes":[]}',
    ...[
      '{"lists":[{"path":"/db/acme/mine","version":12,"prefix":"h-f"}],"writes":[]}',
      '{"lists":[{"path":"/db/acme/mine","version":10,"tags":["acme/mine?n=[7]"]}],"writes":[]}',
    ],
  ],
  ...[
    '{"writes":[{"path":"/db/globex/objects/1","delete":true}]}',
    '{"writes":[{"path":"/db/acme/vault/1","value":{}}]}',
  ],
  ...[
    '{"writes":[{"path":"/db/acme/tally/ann-1","add":1}]}',
    '{"writes":[{"path":"/db/acme/notes/9","value":{"n":9}}],"lease":true}',
  ],
  ...[
    '{"q":"select 1"}',
    '{"cache":"x"}',
    '{"action":"cancel"}',
    '{"as":null,"verb":"read","path":"/db/acme/mine/h-both"}',
  ],
]

/** Queries that the server answers, if the caller has permission. */
const PLAIN_QUERIES = QUERIES.filter(query =>
  /^(?:embed|limit=[12]|ids=|prefix=|from=|after=h|sum$|top=3|sort=n|where=\{"|$)/.test(query),
)
const JSON_HEADERS = { 'content-type': 'application/json' }

/**
 * `patterns`: as OpenAPI writes them. Half of the requests are valid, except perhaps for the caller. Requests that would create
 * an object under a hidden id are left out: their answer reveals the object, and cannot avoid it.
 */
export function makeDoorRequest(random: Random, patterns: readonly string[]): DoorRequest {
  for (;;) {
    const request = random.float() < 0.5 ? makePlain(random) : makeOdd(random, patterns)
    if (!mayCreateHidden(request)) return request
  }
}

function makePlain(random: Random): DoorRequest {
  const bucket = `/db/acme/${random.pick(['mine', 'mine', 'mine', 'notes', 'links', 'tally', 'vault'])}`
  const kind = random.float()
  if (kind < 0.5) {
    const query = random.pick(PLAIN_QUERIES)
    return { method: 'GET', path: bucket + (query === '' ? '' : `?${canonical(query)}`), headers: {}, body: '' }
  }
  if (kind < 0.65) return { method: 'GET', path: `${bucket}/${random.pick(IDS.slice(0, 6))}`, headers: {}, body: '' }
  const body = random.pick(BODIES)
  if (kind < 0.8) return { method: 'POST', path: '/commit', headers: JSON_HEADERS, body }
  const method = random.pick(['PUT', 'PATCH', 'DELETE', 'POST'])
  const type = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : JSON_HEADERS
  const headers = random.float() < 0.3 ? { ...type, 'if-match': random.pick(['*', '"9"']) } : type
  return { method, path: `${bucket}/${random.pick(IDS.slice(0, 6))}`, headers, body: method === 'DELETE' ? '' : body }
}

function makeOdd(random: Random, patterns: readonly string[]): DoorRequest {
  const isData = random.float() < 0.6
  const pattern = random.pick(isData ? patterns.filter(each => each.startsWith('/db')) : patterns)
  const method = random.pick(METHODS)
  const headers = { ...random.pick(HEADERS), ...random.pick(HEADERS) }
  const query = random.pick(QUERIES)
  const path = respelt(random, fill(random, pattern)) + (query === '' ? '' : `?${escaped(query)}`)
  const takesBody = method !== 'GET' && method !== 'HEAD' && method !== 'OPTIONS'
  return { method, path, headers, body: takesBody || random.float() < 0.05 ? random.pick(BODIES) : '' }
}

function fill(random: Random, pattern: string): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const drawn = {
      namespace: NAMESPACES,
      bucket: BUCKETS,
      id: IDS,
      code: ['FORBIDDEN', 'X'],
      segments: ['0-1', '1-9'],
    }[name]
    return encodeURIComponent(random.pick(drawn ?? ['0', 'index.html', 'absent']))
  })
}

/** Most paths are left unchanged; others are spelt so that proxies or programs might read them differently. */
function respelt(random: Random, path: string): string {
  if (random.float() < 0.75) return path
  const last = path.at(-1)!
  const encoded = `%${last.charCodeAt(0).toString(16)}`
  return random.pick([
    ...[`${path}/`, `/${path}`, path.replace('/db/', '/db//'), `${path.slice(0, -1)}${encoded}`, path.toUpperCase()],
    ...[
      `${path}%00`,
      `${path}%2F..`,
      `${path}/../x`,
      `${path};a=b`,
      `${path}.css`,
      path.replaceAll('%20', '+'),
      `${path}#x`,
    ],
  ])
}

/** Escapes only what must be escaped to be sent at all. */
function escaped(query: string): string {
  return query.replaceAll(/["{}<>\s]/g, encodeURIComponent)
}

/** The one spelling of a query whose parameters are in order. */
function canonical(query: string): string {
  const spell = (part: string) => {
    const [name = '', value] = part.split('=')
    const isList = name === 'ids'
    return value === undefined ? name : `${name}=${isList ? value : encodeURIComponent(value)}`
  }
  return query.split('&').sort().map(spell).join('&')
}

function mayCreateHidden({ method, path, headers, body }: DoorRequest): boolean {
  const isCreating = method === 'PUT' && headers['if-match'] === undefined
  return isCreating && body !== '' && HIDDEN_IDS.some(id => path.includes(id))
}
