/** The rules in a store stay there, whatever else is done with it by commands that do not name rules. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endFreshetProcesses, runFreshet, startFreshet } from './freshet-process.js'

const environment = { FRESHET_TOKEN_SECRET: 'a secret of at least thirty-two bytes' }
const LONG = 'x'.repeat(2 * 1024 * 1024)

let folder: string
let admin: string

const at = (name: string) => join(folder, name)
const serveUnderRules = (...more: string[]) =>
  startFreshet(['serve', '--data', at('data'), '--rules', at('shop.access'), ...more], { environment })
const asAdmin = () => ({ headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' } })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-kept-rules-'))
  writeFileSync(at('shop.access'), 'admin if claim.role == "admin"\nbucket shop/orders\n  read if authenticated\n')
  const { output } = await runFreshet(['token', '--claims', '{"role":"admin"}'], { environment })
  admin = output.trim()
  const server = await serveUnderRules('--workers', '1', '--body-bytes-max', '4MiB')
  const body = JSON.stringify({ LONG })
  const put = await fetch(`${server.url}/db/shop/orders/1`, { method: 'PUT', ...asAdmin(), body })
  expect(put.status).toBe(201)
  await server.stop()
})
afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

test('an import leaves them in force, and accepts objects as large as their server accepted', async () => {
  expect((await runFreshet(['export', '--data', at('data'), '--out', at('all.ndjson')])).exitCode).toBe(0)
  const other = await runFreshet(['import', at('all.ndjson'), '--data', at('other'), '--json'])
  expect([other.exitCode, JSON.parse(other.output)]).toMatchObject([0, { created: 1, refused: [] }])
  writeFileSync(at('more.ndjson'), '{"bucket":"shop/orders","id":"2","value":{}}\n')
  expect((await runFreshet(['import', at('more.ndjson'), '--data', at('data')])).exitCode).toBe(0)
  const server = await serveUnderRules('--workers', '1')
  expect((await fetch(`${server.url}/db/shop/orders/2`, asAdmin())).status).toBe(200)
  const { entries } = (await (await fetch(`${server.url}/audit`, asAdmin())).json()) as { entries: unknown[] }
  expect(entries).toMatchObject([{ what: 'rules', before: null }])
  await server.stop()
})

test.each([
  ['dev', []],
  ['dev', ['--insecure']],
  ['serve', ['--workers', '2']],
])('%s without token keys does not start over them', async (mode, more) => {
  const refused = await runFreshet([mode, '--data', at('data'), '--port', '0', ...more])
  expect([refused.exitCode, refused.errors]).toEqual([
    1,
    expect.stringMatching(/FRESHET_TOKEN_SECRET.*freshet rules remove.*ACCESS_REQUIRED/),
  ])
})

test('with token keys, a server applies them, even with --insecure', async () => {
  const server = await startFreshet(['serve', '--data', at('data'), '--workers', '1', '--insecure'], { environment })
  expect((await fetch(`${server.url}/db/shop/orders/1`)).status).toBe(401)
  expect((await fetch(`${server.url}/db/shop/orders/1`, asAdmin())).status).toBe(200)
  await server.stop()
})

test('freshet rules remove --widen removes them, and then none are needed', async () => {
  const refused = await runFreshet(['rules', 'remove', '--data', at('data')])
  expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('--widen')])
  expect((await runFreshet(['rules', 'remove', '--widen', '--data', at('data')])).exitCode).toBe(0)
  const server = await startFreshet(['dev', '--data', at('data')])
  expect((await fetch(`${server.url}/db/shop/orders/1`)).status).toBe(200)
  await server.stop()
})
