/** The functions that start caches: they report what is wrong, and leave nothing behind. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { startNginx } from '@freshet/lab/dist/caches/nginx.js'
import { startSquid } from '@freshet/lab/dist/caches/squid.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { reasonToSkip } from '../runner/services.js'
import { startScriptedOrigin } from './scripted-origin.js'

const NOWHERE = 'http://127.0.0.1:9'
const usualTemporary = process.env.TMPDIR
let temporary: string

// A separate folder for this file's temporary files, since other tests start caches at the same time.
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'freshet-starting-'))
  process.env.TMPDIR = temporary
})

afterEach(async () => {
  await endCaches()
  if (usualTemporary === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = usualTemporary
  rmSync(temporary, { recursive: true, force: true })
})

/** Live processes that this one has started, and files. */
function remains(): string[] {
  const children = readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, 'utf8').split(' ').filter(Boolean)
  const names = children.filter(isAlive).map(pid => readFileSync(`/proc/${pid}/comm`, 'utf8').trim())
  return [...names.filter(name => /varnish|squid|nginx/.test(name)), ...readdirSync(temporary)]
}

function isAlive(pid: string): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
}

/** Squid's files in shared memory are named after its folder. */
function sharedMemoryOf(folder: string): string[] {
  return readdirSync('/dev/shm').filter(name => name.startsWith(folder.replace(/[^A-Za-z0-9]/g, '')))
}

test.skipIf(reasonToSkip('varnish') !== undefined)('a mistake in the rules of Varnish is reported', async () => {
  await expect(startVarnish({ origin: NOWHERE, rules: 'sub vcl_recv { nonsense; }' })).rejects.toThrow(/nonsense/)
  await expect.poll(remains).toEqual([])
})

test.skipIf(reasonToSkip('nginx') !== undefined)('a mistake in the rules of nginx is reported', async () => {
  await expect(startNginx({ origin: NOWHERE, rules: 'nonsense;' })).rejects.toThrow(/unknown directive "nonsense"/)
  await expect.poll(remains).toEqual([])
})

test.skipIf(reasonToSkip('squid') !== undefined)('a killed cache restarts, empty', async () => {
  const origin = await startScriptedOrigin({ 'Cache-Control': 'public, max-age=60' })
  const squid = await startSquid({ origin: origin.url })
  const read = async () => (await fetch(`${squid.url}/a`)).text()
  await read()
  origin.version = 2
  expect(await read()).toBe('1')
  await squid.restart()
  expect(await read()).toBe('2')
  const [folder] = readdirSync(temporary)
  await squid.stop()
  await origin.stop()
  await expect.poll(() => [remains(), sharedMemoryOf(folder!)]).toEqual([[], []])
})

test.skipIf(reasonToSkip('varnish') !== undefined)('so does a cache killed in the middle of its work', async () => {
  const origin = await startScriptedOrigin({ 'Cache-Control': 'public, max-age=60' })
  const varnish = await startVarnish({ origin: origin.url, rules: '' })
  for (let i = 0; i < 3; i++) {
    // Each request has its own thread, which must end before the port is free.
    await Promise.all(Array.from({ length: 100 }, async () => (await fetch(`${varnish.url}/a`)).text()))
    await varnish.restart()
  }
  expect((await fetch(`${varnish.url}/a`)).status).toBe(200)
  await varnish.stop()
  await origin.stop()
  await expect.poll(remains).toEqual([])
})
