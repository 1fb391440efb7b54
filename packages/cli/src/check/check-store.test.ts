import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedStore } from '@freshet/engines/lmdb'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { runCommand } from '../command/run-command.js'

let folder: string
let printed: string[]
const at = (name: string) => join(folder, name)

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-check-'))
  printed = []
  vi.spyOn(console, 'log').mockImplementation((text: string) => void printed.push(text))
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true, force: true })
})

/** The command's JSON output and its exit code. */
async function run(...argv: readonly string[]): Promise<Record<string, unknown>> {
  printed = []
  const exitCode = await runCommand([...argv, '--json'])
  return { exitCode, ...(JSON.parse(printed.at(-1) ?? '{}') as object) }
}

async function makeStore(): Promise<void> {
  const store = await openEmbeddedStore({ path: at('store') })
  const indexes = [{ name: 'n', fields: ['n'] }]
  await store.commit({ writes: [{ key: 'a/b', contentType: 'application/json', body: Buffer.from('{}'), indexes }] })
  const numbers = Array.from({ length: 300 }, (_, n) => n)
  const writes = numbers.map(n => ({
    key: `a/b/${n}`,
    contentType: 'application/json',
    body: Buffer.from(`{"n":${n},"text":"object ${n} of many"}`),
  }))
  await store.commit({ writes })
  await store.close()
}

function damage(text: string): void {
  const bytes = readFileSync(at('store/data.mdb'))
  for (let place = bytes.indexOf(text); place !== -1; place = bytes.indexOf(text, place + 1)) bytes[place]! ^= 0x11
  writeFileSync(at('store/data.mdb'), bytes)
}

test('a damaged object is found, restored from a backup, and its bucket can be queried as before', async () => {
  await makeStore()
  expect(await run('check', 'store', '--data', at('store'))).toMatchObject({ exitCode: 0, damages: [] })
  expect(await run('backup', at('backups'), '--data', at('store'))).toMatchObject({ exitCode: 0 })
  damage('object 77 of')
  expect(await run('check', 'store', '--data', at('store'))).toMatchObject({
    exitCode: 1,
    damages: [{ key: 'a/b/77', what: expect.stringContaining('a/b/77') }],
  })
  const restored = await run('restore', at('backups'), '--data', at('store'), '--damaged')
  expect(restored).toMatchObject({ exitCode: 0, restored: 1, keys: ['a/b/77'] })
  expect(await run('check', 'store', '--data', at('store'))).toMatchObject({ exitCode: 0, damages: [] })
  const store = await openEmbeddedStore({ path: at('store') })
  await vi.waitUntil(async () => (await store.indexes('a/b')).every(({ isReady }) => isReady), 10_000)
  const audit = await store.scan('_freshet/audit')
  expect(audit.entries.map(({ body }) => JSON.parse(Buffer.from(body).toString()))).toMatchObject([
    { what: 'restore', who: expect.stringMatching(/./), from: expect.stringMatching(/./), after: { keys: ['a/b/77'] } },
  ])
  const { entries } = await store.query('a/b', { where: { n: 77 } } as never)
  expect(entries.map(({ body }) => Buffer.from(body).toString())).toEqual(['{"n":77,"text":"object 77 of many"}'])
  await store.close()
})

test('a store that can no longer be opened is salvaged: everything undamaged, with its indexes', async () => {
  await makeStore()
  damage('object 77 of')
  damage('foreign-operations\0')
  await expect(openEmbeddedStore({ path: at('store') })).rejects.toMatchObject({ code: 'STORE_DAMAGED' })
  const report = await run('check', 'store', '--data', at('store'), '--salvage', at('new'))
  expect(report).toMatchObject({ exitCode: 1, salvaged: { objects: 300, to: at('new') } })
  const store = await openEmbeddedStore({ path: at('new') })
  const { entries } = await store.scan('a/b', { limit: 1000 })
  expect(entries.length).toBe(299)
  expect(entries.some(({ id }) => id === '77')).toBe(false)
  expect((await store.indexes('a/b')).map(({ name }) => name)).toEqual(['n'])
  await store.close()
})

test('a store is examined while another process (here, this one) writes to it', async () => {
  await makeStore()
  const store = await openEmbeddedStore({ path: at('store') })
  let isDone = false
  const writing = (async () => {
    for (let i = 0; !isDone; i++) {
      const body = Buffer.from(`{"n":${i}}`)
      await store.commit({ writes: [{ key: `a/b/${i % 500}`, contentType: 'application/json', body }] })
    }
  })()
  for (let i = 0; i < 5; i++) {
    expect(await run('check', 'store', '--data', at('store'))).toMatchObject({ exitCode: 0, damages: [] })
  }
  isDone = true
  await writing
  await store.close()
})
