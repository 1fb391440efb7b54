/**
 * The real server, killed at every point in the processing of a request: between receiving it, committing, and answering; for one
 * addition, for many, and for a commit that relies on reads. A client that resends the request under the same id finds it done
 * once, and gets the same answer each time.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CRASH_POINTS, type CrashPoint } from './crash-points.js'
import { type FreshetProcess, startFreshet } from './freshet-process.js'
import { useFolder } from './test-folder.js'

/** The built file: Node cannot load the source. */
const HOOK = new URL('./crash-hook.js', import.meta.url).href.replace('/src/', '/dist/')
const BEFORE = 7

interface Case {
  readonly name: string
  readonly idKind: 'own' | 'foreign'
  /** For the counter `id`, which must be 5 more afterwards; `version` is that of the order `id`. */
  request(id: string, version: number, key: string): Request
}

interface Request {
  readonly path: string
  readonly body: unknown
  readonly hasKey: boolean
}

const REQUESTS: readonly (readonly [name: string, request: Case['request']])[] = [
  ['one addition', id => ({ path: `/db/shop/counts/${id}`, body: { add: 5 }, hasKey: true })],
  [
    'many additions',
    (id, _, key) => ({
      path: '/db/shop/counts',
      body: { additions: [2, 3].map((add, i) => ({ id, add, key: keyOf(key, i) })) },
      hasKey: false,
    }),
  ],
  [
    'a transaction',
    (id, version) => ({
      path: '/commit',
      body: {
        reads: [{ path: `/db/shop/orders/${id}`, version }],
        writes: [
          { path: `/db/shop/orders/${id}`, value: { state: 'paid' } },
          { path: `/db/shop/counts/${id}`, add: 5 },
        ],
      },
      hasKey: true,
    }),
  ],
]
const CASES: readonly Case[] = REQUESTS.flatMap(([name, request]) =>
  (['own', 'foreign'] as const).map(idKind => ({ name: `${name}, id ${idKind}`, idKind, request })),
)

const folder = useFolder('crash', 'test')

function start(point: CrashPoint): Promise<FreshetProcess> {
  const environment = { NODE_OPTIONS: `--import ${HOOK}`, FRESHET_CRASH_AT: point }
  return startFreshet(['serve', '--data', join(folder(), 'data'), '--workers', '1'], { environment })
}

/** For one of many operations: each has its own key. */
function keyOf(key: string, i: number): string {
  return key.startsWith('f1.') ? key.replace(/\.1\.0\./, `.${i + 1}.0.`) : `${key}-${i}`
}

async function send(url: string, method: string, path: string, value: unknown, headers: Record<string, string> = {}) {
  const body = JSON.stringify(value)
  const answer = await fetch(url + path, { method, body, headers: { 'content-type': 'application/json', ...headers } })
  return { status: answer.status, body: (await answer.json()) as Answered }
}

interface Answered {
  readonly version: number
  readonly timeMs: number
  readonly results?: readonly object[]
}

/** The server started after one case answers for it, and the next case kills it: a start takes longer than everything else. */
test.each(CRASH_POINTS)(
  'additions and transactions, under ids of both kinds, take effect once, wherever the server is killed: %s',
  async point => {
    let server = await start(point)
    await send(server.url, 'PUT', '/db/shop/counts', { kind: 'counter' })
    for (const [i, { name, idKind, request }] of CASES.entries()) {
      const id = `${i}`
      await send(server.url, 'PUT', `/db/shop/counts/${id}`, BEFORE)
      const { version } = (await send(server.url, 'PUT', `/db/shop/orders/${id}`, { state: 'open' })).body
      const { timeMs } = (await (await fetch(`${server.url}/time`)).json()) as Answered
      const key = idKind === 'own' ? `f1.client-of-crash-test-${i}.1.0.${Math.floor(timeMs)}` : `order-${i}`
      const { path, body, hasKey } = request(id, version, key)
      const headers: Record<string, string> = hasKey ? { 'idempotency-key': key } : {}
      const sent = await send(server.url, 'POST', path, body, { ...headers, 'x-request-id': 'crash' }).catch(
        () => 'lost',
      )
      if (point !== 'answered' && point !== 'writing') expect(sent, name).toBe('lost')
      expect((await server.ended).exitCode, name).toBe(null)

      server = await start(point)
      const again = await send(server.url, 'POST', path, body, headers)
      expect(again.status, name).toBe(200)
      const onceMore = await send(server.url, 'POST', path, body, headers)
      expect(withoutReplayed(onceMore), name).toEqual(withoutReplayed(again))
      if (sent !== 'lost') expect(withoutReplayed(again), name).toEqual(sent)
      expect(await (await fetch(`${server.url}/db/shop/counts/${id}`)).json(), name).toBe(BEFORE + 5)
    }
    await server.stop()
  },
)

/** A request with many operations has the mark in each result. */
function withoutReplayed({ status, body }: Awaited<ReturnType<typeof send>>) {
  const results = body.results?.map(result => ({ ...result, replayed: undefined }))
  return { status, body: results === undefined ? body : { ...body, results } }
}
