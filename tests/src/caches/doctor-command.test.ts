/** `freshet doctor` as a command: its output, its exit code, and what it leaves behind. */

import type { AddressInfo } from 'node:net'
import { connect as connectSocket, createServer } from 'node:net'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type MemoryServer, startMemoryServer } from '../end-to-end/memory-server.js'
import { reasonToSkip } from '../runner/services.js'
import { bucketsOfDoctors, doctor, effects, endDoctors, examine, objectsLeft, startDoctor } from './doctor-process.js'
import { startScriptedOrigin } from './scripted-origin.js'

let server: MemoryServer

beforeEach(async () => {
  server = await startMemoryServer()
})

afterEach(async () => {
  await endDoctors()
  await endCaches()
  await server.stop()
})
afterAll(endCaches)

test('without a cache nothing is stale, and the report says that nothing is gained', async () => {
  const { exitCode, output, errors } = await doctor('--through', server.url)
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
  expect(output).toContain('no cache that names itself')
  expect(output).toMatch(/^slower +does not hold: copies are stored/m)
  expect(output).toMatch(/Freshet clients are served nothing stale through this address\.\n$/)
})

test.skipIf(reasonToSkip('varnish') !== undefined)('says what is wrong, and which lines help', async () => {
  const rules = 'sub vcl_hash { hash_data(regsub(req.url, "\\?.*$", "")); return (lookup); }'
  const { url } = await startVarnish({ origin: server.url, rules })
  const { exitCode, output } = await doctor('--through', url)
  expect(exitCode).toBe(1)
  expect(output).toContain('Varnish (x-varnish: ')
  expect(output).toMatch(
    /^FATAL +does not hold: URLs with different queries are kept apart.*\n +\?at=\d+ was answered with/m,
  )
  expect(output).toMatch(/^ +varnish: in sub vcl_hash.*\n(?:.*\n)? +hash_data\(req\.url\);$/m)
  expect(output).toMatch(/FATAL: do not serve readers through this address\.\n$/)
  expect(Math.max(...output.split('\n').map(line => line.length))).toBeLessThanOrEqual(120)
})

test.skipIf(reasonToSkip('varnish') !== undefined)(
  'detects that two caches answer in turn, and blames neither',
  async () => {
    const caches = await Promise.all([startVarnish({ origin: server.url }), startVarnish({ origin: server.url })])
    const balancer = await startBalancer(caches.map(({ url }) => Number(new URL(url).port)))
    const report = await examine(balancer, '--server', server.url)
    balancer.stop()
    expect(report).toMatchObject({ exitCode: 0, isSafe: true })
    expect(effects(report, 'backwards', 'purge-closed', 'client')).toEqual({
      ...{ backwards: 'harmless', 'purge-closed': 'undecided', client: 'good' },
    })
  },
)

test('two doctors at once have their own buckets, so that neither deletes what the other uses', async () => {
  const first = startDoctor('--through', server.url)
  await vi.waitUntil(async () => (await objectsLeft(server)) > 3, { timeout: 30_000, interval: 20 })
  first.process.kill('SIGSTOP')
  const second = startDoctor('--through', server.url)
  await vi.waitUntil(async () => (await bucketsOfDoctors(server)).length === 4, { timeout: 10_000, interval: 20 })
  expect(await second.ended).toMatchObject({ exitCode: 0, errors: '' })
  expect(await objectsLeft(server)).toBeGreaterThan(3)
  first.process.kill('SIGCONT')
  expect((await first.ended).errors).toBe('')
  expect(await namespaces()).toEqual([])
})

async function namespaces(): Promise<readonly string[]> {
  return ((await (await fetch(`${server.url}/db`)).json()) as { namespaces: string[] }).namespaces
}

describe('it removes what it wrote', () => {
  test('and the buckets that it created, but no bucket that existed before', async () => {
    const put = { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: '{"kind":"object"}' }
    await fetch(`${server.url}/db/own/probes`, put)
    expect((await doctor('--through', server.url)).exitCode).toBe(0)
    expect(await namespaces()).toEqual(['own'])
    expect((await doctor('--through', server.url, '--bucket', 'own/probes')).exitCode).toBe(0)
    const { buckets } = (await (await fetch(`${server.url}/db/own`)).json()) as { buckets: { bucket: string }[] }
    expect(buckets.map(({ bucket }) => bucket)).toEqual(['probes'])
  })

  test('and what a killed doctor has left behind, once it can no longer be running', async () => {
    const nameOf = (ageMs: number) => `${(Date.now() - ageMs).toString(36)}-0123456789ab`
    const [old, recent] = [nameOf(3 * 3_600_000), nameOf(60_000)]
    const headers = { 'Content-Type': 'application/json' }
    for (const name of [old, `${old}-brief`, recent, 'no-doctors']) {
      await fetch(`${server.url}/db/freshet-doctor/${name}/probe-1`, { method: 'PUT', headers, body: '{"number":1}' })
    }
    expect((await doctor('--through', server.url)).exitCode).toBe(0)
    expect((await bucketsOfDoctors(server)).toSorted()).toEqual([recent, 'no-doctors'].toSorted())
  })

  test.each(['SIGINT', 'SIGTERM'] as const)('even when %s stops it', async signal => {
    const child = startDoctor('--through', server.url)
    await vi.waitUntil(async () => (await objectsLeft(server)) > 3, { timeout: 30_000, interval: 20 })
    child.process.kill(signal)
    expect(await child.ended).toEqual({ exitCode: 130, output: '', errors: '' })
    expect(await objectsLeft(server)).toBe(0)
    expect(await namespaces()).toEqual([])
  })
})

describe('it does not start', () => {
  test('if no server answers', async () => {
    const nowhere = await startScriptedOrigin({})
    await nowhere.stop()
    const { exitCode, errors } = await doctor('--through', nowhere.url)
    expect(exitCode).toBe(2)
    expect(errors).toContain(`${nowhere.url}/coherence`)
    expect(errors).toContain('got no answer')
  })

  test('if another server than Freshet answers', async () => {
    const other = await startScriptedOrigin({})
    const { exitCode, errors } = await doctor('--through', other.url)
    await other.stop()
    expect(exitCode).toBe(2)
    expect(errors).toContain('not by a Freshet server. Check the address.')
  })

  test('if --server is another store', async () => {
    const other = await startMemoryServer()
    const { exitCode, errors } = await doctor('--through', server.url, '--server', other.url)
    await other.stop()
    expect(exitCode).toBe(2)
    expect(errors).toContain('lead to different stores')
  })

  test('in a bucket that is in use', async () => {
    const path = `${server.url}/db/shop/products/tea`
    await fetch(path, { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: '{"price":1}' })
    const { exitCode, errors } = await doctor('--through', server.url, '--bucket', 'shop/products')
    expect(exitCode).toBe(2)
    expect(errors).toContain('The bucket shop/products holds objects that are not the doctor')
    expect((await fetch(path)).headers.get('cache-control')).toContain('max-age=60')
  })
})

/** Hands connections to the ports in turn. */
async function startBalancer(ports: readonly number[]) {
  let next = 0
  const balancer = createServer(client => {
    const cache = connectSocket(ports[next++ % ports.length]!, '127.0.0.1')
    client.pipe(cache).pipe(client)
    for (const [one, other] of [
      [client, cache],
      [cache, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>(resolve => balancer.listen(0, '127.0.0.1', resolve))
  const { port } = balancer.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, stop: () => void balancer.close() }
}
