/** Rules as an administrator changes them: by the command, of a running server, or of the store itself. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { endFreshetProcesses, type FreshetProcess, runFreshet, startFreshet } from './freshet-process.js'

const environment = { FRESHET_TOKEN_SECRET: 'a secret of at least thirty-two bytes' }
const ADMIN = 'admin if claim.role == "admin"\n'
const FIRST = `${ADMIN}bucket shop/orders\n  read if authenticated\n`
const CLOSED = `${ADMIN}bucket shop/orders\n  read if claim.role == "staff"\n`
const OPEN = `${ADMIN}bucket shop/orders\n  read\n`

let folder: string
let server: FreshetProcess
let token: string

const at = (name: string) => join(folder, name)
const file = (name: string, text: string) => {
  writeFileSync(at(name), text)
  return at(name)
}
const serve = (...more: string[]) =>
  startFreshet(['serve', '--data', at('data'), '--workers', '2', ...more], { environment })
const rules = (...args: string[]) =>
  runFreshet(['rules', ...args, '--url', server.url], { environment: { FRESHET_TOKEN: token } })
const inForce = async () => JSON.parse((await rules('show', '--json')).output) as { rules: string; version: number }
const readStatus = async () => (await fetch(`${server.url}/db/shop/orders/1`)).status

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-rules-'))
  token = (await runFreshet(['token', '--claims', '{"role":"admin"}'], { environment })).output.trim()
  server = await serve('--rules', file('first.access', FIRST))
})
afterAll(async () => {
  await endFreshetProcesses()
  rmSync(folder, { recursive: true, force: true })
})

test('diff shows what would change, and show prints the rules in force', async () => {
  const different = await rules('diff', file('closed.access', CLOSED))
  expect(different.exitCode).toBe(1)
  expect(different.output).toContain('-   read if authenticated\n+   read if claim.role == "staff"\n')
  expect(different.output).toContain('Nothing becomes more open.')
  expect((await rules('diff', at('first.access'))).exitCode).toBe(0)
  expect((await rules('show')).output).toBe(FIRST)
})

test('apply puts a file into force, and history and rollback find earlier rules', async () => {
  const { version } = await inForce()
  expect((await rules('apply', at('closed.access'))).output).toMatch(
    /^Version \d+ is in force.*Nothing becomes more open/,
  )
  expect((await inForce()).rules).toBe(CLOSED)
  const stale = await rules('apply', at('first.access'), '--if-version', `${version}`, '--json')
  expect([stale.exitCode, JSON.parse(stale.output || stale.errors)]).toMatchObject([1, { code: 'VERSION_CONFLICT' }])
  const wider = await rules('rollback')
  expect([wider.exitCode, wider.errors]).toEqual([1, expect.stringContaining('shop/orders (read)')])
  expect((await rules('rollback', '--widen')).exitCode).toBe(0)
  expect((await inForce()).rules).toBe(FIRST)
  const history = (await rules('history', '--json')).output
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(history).toMatchObject([{ version, rules: FIRST }, { rules: CLOSED, wider: [] }, { rules: FIRST }])
  expect((await rules('rollback', `${history[1].version}`)).exitCode).toBe(0)
  expect((await inForce()).rules).toBe(CLOSED)
})

test('apply opens nothing without --widen', async () => {
  const refused = await rules('apply', file('open.access', OPEN))
  expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('shop/orders (read)')])
  expect(await readStatus()).toBe(401)
  expect((await rules('apply', at('open.access'), '--widen')).output).toContain('More open: shop/orders (read)')
  expect(await readStatus()).toBe(404)
})

test('administrators who locked themselves out apply rules to the store, while no server has its folder open', async () => {
  const without = file('no-admin.access', 'bucket shop/orders\n  read if claim.role == "none"\n')
  const refused = await rules('apply', without)
  expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('--data')])
  const local = (path: string) => runFreshet(['rules', 'apply', path, '--widen', '--data', at('data'), '--json'])
  const locked = await local(at('first.access'))
  expect([locked.exitCode, locked.output + locked.errors]).toEqual([1, expect.stringContaining('STORE_LOCKED')])
  await server.stop()
  expect((await local(without)).exitCode).toBe(0)
  server = await serve()
  expect((await rules('show')).exitCode).toBe(1)
  await server.stop()
  expect((await local(at('first.access'))).exitCode).toBe(0)
  // Neither the file of the first start nor any is needed: the rules are in the store.
  server = await serve()
  expect((await inForce()).rules).toBe(FIRST)
  expect(await readStatus()).toBe(401)
})
