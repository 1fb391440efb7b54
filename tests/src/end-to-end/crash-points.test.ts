/**
 * The real server, killed at every point on the way of a request: between receiving it, committing, and answering; for one
 * addition, for many, and for a commit that relies on what was read. Whoever sends it again under the same id finds it done
 * once, and is told the same each time.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CRASH_POINTS } from './crash-points.js'
import { endFreshetProcesses, startFreshet } from './freshet-process.js'

/** As it was built: Node cannot load it as it is written. */
const HOOK = new URL('./crash-hook.js', import.meta.url).href.replace('/src/', '/dist/')
const BEFORE = 7

interface Kind {
  readonly name: string
  request(version: number, key: string): { readonly path: string; readonly body: unknown; readonly hasKey: boolean }
}

const KINDS: readonly Kind[] = [
  { name: 'one addition', request: () => ({ path: '/db/shop/counts/a', body: { add: 5 }, hasKey: true }) },
  {
    name: 'many additions',
    request: (_, key) => ({
      path: '/db/shop/counts',
      body: { additions: [2, 3].map((add, i) => ({ id: 'a', add, key: keyOf(key, i) })) },
      hasKey: false,
    }),
  },
  {
    name: 'a transaction',
    request: version => ({
      path: '/commit',
      body: {
        reads: [{ path: '/db/shop/orders/1', version }],
        writes: [
          { path: '/db/shop/orders/1', value: { state: 'paid' } },
          { path: '/db/shop/counts/a', add: 5 },
        ],
      },
      hasKey: true,
    }),
  },
]

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-crash-'))
})
afterEach(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})
afterAll(endFreshetProcesses)

function start(environment: Readonly<Record<string, string>> = {}) {
  return startFreshet(['serve', '--data', join(folder, 'data'), '--workers', '1'], { environment })
}

/** Of many: each has its own. */
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

describe.each(KINDS)('$name', ({ request }) => {
  describe.each(['own', 'foreign'])('under an id, %s', idKind => {
    test.each(CRASH_POINTS)('is done once, wherever the server is killed: %s', async point => {
      const first = await start({ NODE_OPTIONS: `--import ${HOOK}`, FRESHET_CRASH_AT: point })
      await send(first.url, 'PUT', '/db/shop/counts', { kind: 'counter' })
      await send(first.url, 'PUT', '/db/shop/counts/a', BEFORE)
      const { version } = (await send(first.url, 'PUT', '/db/shop/orders/1', { state: 'open' })).body
      const { timeMs } = (await (await fetch(`${first.url}/time`)).json()) as Answered
      const key = idKind === 'own' ? `f1.client-of-crash-test.1.0.${Math.floor(timeMs)}` : 'order-1'
      const { path, body, hasKey } = request(version, key)
      const headers: Record<string, string> = hasKey ? { 'idempotency-key': key } : {}
      const sent = await send(first.url, 'POST', path, body, { ...headers, 'x-request-id': 'crash' }).catch(
        () => 'lost',
      )
      if (point !== 'answered' && point !== 'writing') expect(sent).toBe('lost')
      expect((await first.ended).exitCode).toBe(null)

      const second = await start()
      const again = await send(second.url, 'POST', path, body, headers)
      expect(again.status).toBe(200)
      expect(withoutReplayed(await send(second.url, 'POST', path, body, headers))).toEqual(withoutReplayed(again))
      if (sent !== 'lost') expect(withoutReplayed(again)).toEqual(sent)
      expect(await (await fetch(`${second.url}/db/shop/counts/a`)).json()).toBe(BEFORE + 5)
      await second.stop()
    })
  })
})

/** In the results of many each says so for itself. */
function withoutReplayed({ status, body }: Awaited<ReturnType<typeof send>>) {
  const results = body.results?.map(result => ({ ...result, replayed: undefined }))
  return { status, body: results === undefined ? body : { ...body, results } }
}
