/** A full disk, a damaged file, a file of another program, and one that was restored from a copy. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { openSqliteStore } from '@freshet/engines/sqlite'
import { FreshetError } from '@freshet/protocol'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { testFullDisk } from '../under-test/test-full-disk.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'

let folder: string
let path: string
const stores: Store[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'freshet-sqlite-'))
  path = join(folder, 'shop.db')
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
  rmSync(folder, { recursive: true })
})

const open = async (recalled?: LogPlace) => {
  const store = await openSqliteStore({ path, recalled })
  stores.push(store)
  return store
}
const refusal = (code: string, words: string) => ({ code, message: expect.stringContaining(words) })

describe('a file that is not a store', () => {
  test.each([
    ['is of another kind', () => writeFileSync(path, 'hello '.repeat(1000)), 'not a SQLite database'],
    ['is of another program', () => aDatabase('CREATE TABLE t (a)'), 'another program'],
    ['is a folder', () => mkdirSync(path), 'not a file'],
    [
      'is in no folder',
      () => {
        path = join(folder, 'none', 'shop.db')
      },
      'its folder does not exist',
    ],
  ])('that %s is refused, and left as it is', async (_, make, words) => {
    make()
    await expect(open()).rejects.toMatchObject(refusal('STORE_UNUSABLE', words))
  })

  test('but of a newer Freshet is refused', async () => {
    await (await open()).close()
    aDatabase('PRAGMA user_version = 2')
    await expect(open()).rejects.toMatchObject(refusal('STORE_UNUSABLE', 'Update Freshet'))
  })
})

test('each connection has the settings that put acknowledged commits on disk', async () => {
  const { Connection, loadBinding } = await import('./connection.js')
  await open()
  const connection = new Connection((await loadBinding())!, path, true)
  expect([connection.ask('PRAGMA journal_mode'), connection.ask('PRAGMA synchronous')]).toEqual(['wal', 2])
  connection.close()
})

test('a flipped byte is never served, and is found by reading, opening, or an integrity check', async () => {
  const store = await open()
  const ids = Array.from({ length: 300 }, (_, i) => `${i}`)
  const bodyOf = (id: string) => `${id} `.repeat(40)
  await store.commit({
    writes: ids.map(id => ({ key: `a/b/${id}`, contentType: 'text/plain', body: Buffer.from(bodyOf(id)) })),
  })
  await store.close()
  const pristine = readFileSync(path)
  const outcomes = new Set<string>()
  for (let offset = 30; offset < pristine.length; offset += 1997) {
    const damaged = Buffer.from(pristine)
    damaged[offset]! ^= 0x55
    writeFileSync(path, damaged)
    outcomes.add(await outcomeOf(ids, bodyOf))
  }
  expect([...outcomes].sort()).toEqual(['as before', 'damaged'])
})

/** The outcome of reading everything, one by one and as a list. */
async function outcomeOf(ids: readonly string[], bodyOf: (id: string) => string): Promise<string> {
  try {
    const store = await open()
    const { entries } = await store.scan('a/b', { limit: 1000 })
    for (const { id, body } of entries) expect(Buffer.from(body).toString()).toBe(bodyOf(id))
    const values = await Promise.all(ids.map(async id => store.get(`a/b/${id}`)))
    for (const [i, value] of values.entries()) {
      if (value) expect(Buffer.from(value.body).toString()).toBe(bodyOf(ids[i]!))
    }
    await store.changes(await store.trimmedTo())
    await store.close()
    return entries.length === ids.length && values.every(value => value) ? 'as before' : whatSqliteFinds()
  } catch (error) {
    if (error instanceof FreshetError && ['STORE_DAMAGED', 'STORE_UNUSABLE'].includes(error.code)) return 'damaged'
    throw error
  }
}

/** A flipped bit in the tree of pages may hide the pages below, which reading does not notice. */
function whatSqliteFinds(): string {
  const database = new DatabaseSync(path)
  const found = database.prepare('PRAGMA integrity_check').get().integrity_check
  database.close()
  return found === 'ok' ? 'missing' : 'damaged'
}

describe('a restored copy of the file', () => {
  const copy = () => join(folder, 'copy.db')
  const backUp = () => {
    // Like `sqlite3 shop.db ".backup copy.db"`, while the store is open.
    rmSync(copy(), { force: true })
    aDatabase(`VACUUM INTO '${copy()}'`)
    // This process keeps the file open for a while, so a later change of mode, which needs a lock, must not be necessary.
    aDatabase('PRAGMA journal_mode = WAL', copy())
  }
  test.each([
    ['over itself', () => copyFileSync(copy(), path)],
    ['in its place', () => renameSync(copy(), path)],
    [
      'after all its files were removed',
      () => {
        for (const more of ['', '-wal', '-shm', '-place']) rmSync(path + more, { force: true })
        copyFileSync(copy(), path)
      },
    ],
  ])('%s has another log', async (_, restore) => {
    const { lost, store } = await restoreUnnoticed({ open, backUp, restore })
    await expectAnotherLog(store, lost)
  })

  test('together with the place file has another log', async () => {
    const sh = (script: string) => execFileSync('sh', ['-ec', script, '-', path, copy()])
    const first = await open()
    await put(first, 'a/b/1')
    await first.close()
    sh('cp -p "$1" "$2"; cp -p "$1-place" "$2-place"')
    const second = await open()
    expect(second.log).toBe(first.log)
    const position = await put(second, 'a/b/1')
    await second.close()
    sh('cp -p "$2" "$1"; cp -p "$2-place" "$1-place"')
    await expectAnotherLog(await open(), { log: second.log, position })
  })

  test('that only the record of an earlier process reveals has another log', async () => {
    const store = await open()
    const position = await put(store, 'a/b/1')
    await store.close()
    await expectAnotherLog(await open({ log: store.log, position: position + 5 }), {
      log: store.log,
      position: position + 5,
    })
  })

  test('under a running server makes it refuse writes', async () => {
    const store = await open()
    await put(store, 'a/b/1')
    backUp()
    renameSync(copy(), path)
    await expect(put(store, 'a/b/1')).rejects.toMatchObject(refusal('STORE_UNUSABLE', 'moved or replaced'))
  })
})

test('a store that is closed and opened again has the same log', async () => {
  const first = await open()
  await put(first, 'a/b/1')
  await first.close()
  const [second, third] = await Promise.all([open(), open()])
  expect([second.log, third.log]).toEqual([first.log, first.log])
})

function aDatabase(sql: string, file = path): void {
  const database = new DatabaseSync(file)
  database.exec(sql)
  database.close()
}

// Unmounted lazily: the binding closes a file when its statements are garbage-collected.
testFullDisk({ folder: () => folder, open: () => open(), unmountArguments: ['-l'] })
