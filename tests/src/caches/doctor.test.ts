/**
 * `freshet doctor` with real caches: with the shipped configurations nothing is fatal, and every deliberate misconfiguration is
 * found.
 */
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { endCaches, type RunningCache } from '@freshet/lab/dist/caches/cache-process.js'
import { startNginx } from '@freshet/lab/dist/caches/nginx.js'
import { startSquid } from '@freshet/lab/dist/caches/squid.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterAll, describe, expect, test } from 'vitest'
import { type MemoryServer, startMemoryServer } from '../end-to-end/memory-server.js'
import { reasonToSkip } from '../runner/services.js'
import { effects, endDoctors, examine, objectsLeft, type Report } from './doctor-process.js'

afterAll(async () => {
  await endDoctors()
  await endCaches()
})

/** A server with a cache in front of it, for one test: other tests run beside it. */
async function withCache(
  start: (origin: string) => Promise<RunningCache>,
  use: (cache: RunningCache, server: MemoryServer) => Promise<void>,
): Promise<void> {
  const server = await startMemoryServer()
  const cache = await start(server.url)
  try {
    await use(cache, server)
  } finally {
    await cache.stop()
    await server.stop()
  }
}

interface Setting {
  readonly name: string
  readonly kind: string
  readonly start: (origin: string) => Promise<RunningCache>
}

interface Shipped extends Setting {
  /** The facts that are not good, besides the race of a purge with a fill. */
  readonly otherwise: Readonly<Record<string, string>>
  readonly races: readonly (string | undefined)[]
}

interface Ill extends Setting {
  readonly found: Readonly<Record<string, string>>
  /** What the report must say about the worst finding. */
  readonly saw?: RegExp
  /** A line that the advice must contain. */
  readonly line?: string
}

/** Caches that are not installed are skipped; the test runner reports that. */
function isInstalled({ kind }: Setting): boolean {
  return reasonToSkip(kind) === undefined
}

const SHIPPED: readonly Shipped[] = [
  {
    name: 'Varnish',
    kind: 'varnish',
    start: (origin: string) => startVarnish({ origin }),
    otherwise: {
      collapsing: 'harmless',
      etag: 'harmless',
      revalidation: 'harmless',
      writes: 'harmless',
    },
    races: ['harmless'],
  },
  {
    name: 'Squid',
    kind: 'squid',
    start: (origin: string) => startSquid({ origin }),
    otherwise: {},
    races: ['harmless', undefined],
  },
  {
    name: 'Squid, collapsed forwarding',
    kind: 'squid',
    start: (origin: string) => startSquid({ origin, isCollapsing: true }),
    otherwise: { collapsing: 'harmless' },
    races: ['harmless', undefined],
  },
  {
    name: 'nginx',
    kind: 'nginx',
    start: (origin: string) => startNginx({ origin }),
    otherwise: { collapsing: 'harmless', revalidation: 'harmless', writes: 'harmless' },
    races: ['undecided'],
  },
].filter(isInstalled)

describe('with the shipped configuration', () => {
  test.concurrent.each(SHIPPED.map(each => [each.name, each] as const))(
    '%s is safe, and known by its headers',
    (_, shipped) =>
      withCache(shipped.start, async (cache, server) => {
        const report = await examine(cache, '--server', server.url, '--purge-secret', cache.secret)
        expect(report).toMatchObject({ exitCode: 0, isSafe: true })
        expect(report.caches.map(({ name }) => name.toLowerCase())).toEqual([shipped.kind])
        const { 'purge-race': race, ...sure } = effects(report, 'fatal', 'unsafe', 'slower', 'harmless', 'undecided')
        expect(sure).toEqual(shipped.otherwise)
        // In Squid, a purge that meets a fill is usually lost, but not always. nginx has no PURGE.
        expect(shipped.races).toContain(race)
        expect(await objectsLeft(server)).toBe(0)
      }),
  )
})

const varnish = (rules: string) => (origin: string) => startVarnish({ origin, rules })
const squid = (rules: string) => (origin: string) => startSquid({ origin, rules })
const nginx = (rules: string) => (origin: string) => startNginx({ origin, rules })

/** The slow ones first: some facts need a copy to be served far past its lifetime. */
const ILL: readonly Ill[] = [
  {
    name: 'Varnish with a grace of an hour, open to purges by any client',
    kind: 'varnish',
    start: varnish(
      'sub vcl_recv { if (req.method == "PURGE") { return (purge); } }\n' +
        'sub vcl_backend_response { set beresp.grace = 1h; }',
    ),
    found: { expiry: 'slower', 'purge-closed': 'unsafe' },
    line: 'set beresp.grace = 0s;',
  },
  {
    name: 'Varnish that any client can empty with one request',
    kind: 'varnish',
    start: varnish(
      'import std;\nsub vcl_recv { if (req.method == "PURGE") { std.ban("obj.status != 0"); return (synth(200, "Emptied")); } }',
    ),
    found: { 'purge-closed': 'unsafe' },
    saw: /^PURGE without a secret was answered with 200, and the copy was gone/,
  },
  {
    name: 'Varnish with a grace of an hour that also loses positions',
    kind: 'varnish',
    start: varnish('sub vcl_backend_response { set beresp.grace = 1h; unset beresp.http.Freshet-Position; }'),
    found: { expiry: 'fatal', position: 'fatal' },
    line: 'set beresp.grace = 0s;',
  },
  {
    name: 'nginx that caches errors, and everything else, for a minute',
    kind: 'nginx',
    start: nginx('proxy_cache_key $request_uri; proxy_ignore_headers Cache-Control; proxy_cache_valid any 1m;'),
    found: { errors: 'fatal', 'no-store': 'harmless', expiry: 'slower' },
  },
  {
    name: 'Varnish that leaves queries out of its key',
    kind: 'varnish',
    start: varnish('sub vcl_hash { hash_data(regsub(req.url, "\\?.*$", "")); return (lookup); }'),
    found: { queries: 'fatal', client: 'fatal' },
    saw: /^\?at=\d+ was answered with a copy read at position \d+/,
    line: 'hash_data(req.url);',
  },
  {
    name: 'Varnish that drops queries on the way',
    kind: 'varnish',
    start: varnish(
      'sub vcl_backend_fetch { if (bereq.url ~ "^/db/") { set bereq.url = regsub(bereq.url, "\\?.*$", ""); } }',
    ),
    found: { queries: 'fatal' },
    saw: /did not reach the server/,
    line: 'hash_data(req.url);',
  },
  {
    name: 'nginx that leaves queries out of its key',
    kind: 'nginx',
    start: nginx('proxy_cache_key $uri;'),
    found: { queries: 'fatal', client: 'fatal' },
    saw: /^\?at=\d+ was answered with a copy read at position \d+/,
    line: 'proxy_cache_key $request_uri;',
  },
  {
    name: 'nginx as distributed, which serves private answers to all, and hides ages',
    kind: 'nginx',
    start: nginx(''),
    found: { authorization: 'unsafe', age: 'slower', 'purge-closed': 'harmless' },
    line: 'proxy_no_cache $http_authorization $upstream_http_age;',
  },
  {
    name: 'nginx that buffers events, and mixes up compressed forms',
    kind: 'nginx',
    start: nginx('proxy_ignore_headers X-Accel-Buffering Vary;'),
    found: { events: 'slower', vary: 'fatal' },
    line: 'proxy_buffering off;',
  },
  {
    name: 'Varnish that drops headers of writes and answers',
    kind: 'varnish',
    start: varnish(
      'sub vcl_recv { unset req.http.If-None-Match; }\n' +
        'sub vcl_deliver { unset resp.http.ETag; unset resp.http.Age; set resp.http.Cache-Control = "max-age=600"; }',
    ),
    found: { etag: 'fatal', lifetime: 'slower', conditions: 'fatal' },
  },
  {
    name: 'Squid that caches what it must not, for as long as it likes',
    kind: 'squid',
    start: squid(
      'refresh_pattern . 60 100% 60 override-expire override-lastmod ignore-reload ignore-no-store ignore-must-revalidate',
    ),
    found: { revalidation: 'harmless', 'no-store': 'harmless' },
    line: 'refresh_pattern . 0 0% 0',
  },
].filter(isInstalled)

/** Passes requests to a cache. Just before a stranger's first request of each kind, purges all probes, as a server might. */
async function startPurgingFront({ url, secret }: RunningCache): Promise<{ readonly url: string; close(): void }> {
  const seen = new Set<string>()
  const front = createServer(async (incoming, response) => {
    const { url: target = '', method, headers } = incoming
    if (method === 'GET' && target.includes('/probe-')) seen.add(target)
    const isStranger = method === 'PURGE' || method === 'BAN' || 'freshet-purge-secret' in headers
    const purged = isStranger && target.endsWith('-1') ? [...seen] : []
    for (const path of purged)
      await fetch(`${url}${path}`, { method: 'PURGE', headers: { 'Freshet-Purge-Secret': secret } })
    incoming.pipe(
      request(`${url}${target}`, { method, headers }, answer => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      }),
    )
  })
  front.listen(0, '127.0.0.1')
  await once(front, 'listening')
  const close = () => {
    front.close()
    front.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${(front.address() as AddressInfo).port}`, close }
}

test
  .skipIf(reasonToSkip('varnish') !== undefined)
  .concurrent('a cache is not reported as open because the server purges copies while strangers try to', () =>
    withCache(
      origin => startVarnish({ origin }),
      async (cache, server) => {
        const front = await startPurgingFront(cache)
        const report = await examine(front, '--server', server.url)
        front.close()
        expect(effects(report, 'purge-closed', 'fatal', 'unsafe')).toEqual({ 'purge-closed': 'good' })
      },
    ),
  )

describe('every misconfiguration is found:', () => {
  test.concurrent.each(ILL.map(each => [each.name, each] as const))('%s', (_, { start, found, saw, line }) =>
    withCache(start, async (cache, server) => {
      const report = await examine(cache, '--server', server.url)
      expect(effects(report, ...Object.keys(found))).toEqual(found)
      const isIll = Object.values(found).some(effect => effect === 'fatal' || effect === 'unsafe')
      if (isIll) expect(report).toMatchObject({ exitCode: 1, isSafe: false })
      const advised = report.findings.flatMap(({ advice }) =>
        advice.flatMap(({ lines }) => lines.map(each => each.trim())),
      )
      if (saw !== undefined) expect(report.findings[0]!.saw).toMatch(saw)
      if (line !== undefined) expect(advised).toContain(line)
    }),
  )

  test.skipIf(reasonToSkip('nginx') !== undefined).concurrent('the lines that it recommends for nginx help', () =>
    withCache(
      origin => startNginx({ origin, rules: '' }),
      async (bare, server) => {
        const facts = ['authorization', 'age', 'purge-closed']
        const rules = linesFor(await examine(bare), facts)
        const better = await startNginx({ origin: server.url, rules: rules.join('\n') })
        const report = await examine(better)
        await better.stop()
        expect(effects(report, ...facts)).toEqual({ age: 'good', authorization: 'good', 'purge-closed': 'good' })
      },
    ),
  )

  test.skipIf(reasonToSkip('squid') !== undefined).concurrent('the lines that it recommends for Squid help', () =>
    withCache(
      origin => startSquid({ origin, isCollapsing: true }),
      async (shipped, server) => {
        const lines = linesFor(await examine(shipped), ['purge-closed'])
        const better = await startSquid({ origin: server.url, rules: lines.join('\n') })
        const report = await examine(better)
        await better.stop()
        expect(effects(report, 'purge-closed', 'collapsing')).toEqual({ 'purge-closed': 'good', collapsing: 'good' })
      },
    ),
  )
})

/** Each line once, as in a file. */
function linesFor({ findings }: Report, facts: readonly string[]): readonly string[] {
  const lines = findings
    .filter(({ fact }) => facts.includes(fact))
    .flatMap(({ advice }) => advice.flatMap(each => each.lines))
  return [...new Set(lines)]
}
