/**
 * A new store at the address of an old one: its folder was deleted, and the server restarted. For one lifetime, caches have
 * copies of the old store's data, under plain URLs and under `?at=` its positions. No session that reads through them may be
 * shown such a copy.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, type Database } from '@freshet/client'
import { freePort } from '@freshet/engines/under-test/free-port'
import { endCaches } from '@freshet/lab/dist/caches/cache-process.js'
import { startVarnish } from '@freshet/lab/dist/caches/varnish.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { endFreshetProcesses, startFreshet } from '../end-to-end/freshet-process.js'
import { reasonToSkip } from '../runner/services.js'

interface Item {
  readonly from: 'old' | 'new'
}

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-new-store-'))
})

afterEach(async () => {
  await Promise.all([endCaches(), endFreshetProcesses()])
  rmSync(folder, { recursive: true, force: true })
})

test.skipIf(reasonToSkip('varnish') !== undefined)('no session is shown data of an earlier store', async () => {
  const port = String(await freePort())
  const start = () => startFreshet(['serve', '--data', join(folder, 'data'), '--port', port, '--lifetime-ms', '1h'])
  const old = await start()
  const varnish = await startVarnish({ origin: old.url })
  const before = await connectAfresh(varnish.url)
  await put(before, 'changed', 'old')
  expect(await read(before, 'changed')).toEqual({ from: 'old' })
  // Under its plain URL, as a reader without sessions reads.
  const gone = `${varnish.url}/db/shop/items/gone`
  await put(before, 'gone', 'old')
  await fetch(gone)
  await old.stop()

  rmSync(join(folder, 'data'), { recursive: true })
  await start()
  const direct = await connectAfresh(old.url)
  // The same commits, as far as there are any: positions that count from 0 would be the same, too.
  await put(direct, 'changed', 'new')
  for (const db of [await connectAfresh(varnish.url), before]) {
    expect(await read(db, 'changed')).toEqual({ from: 'new' })
    expect(await read(db, 'gone')).toBe(undefined)
  }
  // The cache still has it; the session detected it.
  expect(await (await fetch(gone)).json()).toEqual({ from: 'old' })
  for (const db of [before, direct]) db.close()
})

function connectAfresh(url: string): Promise<Database> {
  return connect(url, { memoryBytesMax: 0 })
}

async function put(db: Database, id: string, from: Item['from']): Promise<void> {
  await db.bucket<Item>('shop/items').put(id, { from })
}

function read(db: Database, id: string): Promise<Item | undefined> {
  return db.bucket<Item>('shop/items').get(id, { read: 'current' })
}
