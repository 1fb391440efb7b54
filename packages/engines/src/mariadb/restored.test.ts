/** A database that was restored by the tools of MariaDB while no server ran: the log becomes another one. */
import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'
import { endMariadb, type RunningMariadb, startMariadb } from '../under-test/start-mariadb.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'
import { openMariadbStore } from './open-mariadb-store.js'

const stores: Store[] = []
let mariadb: RunningMariadb

beforeAll(async () => {
  mariadb = await startMariadb()
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})
afterAll(endMariadb)

const open = async (recalled?: LogPlace) => {
  const store = await openMariadbStore({ url: mariadb.url, onWarning: () => {}, recalled })
  stores.push(store)
  return store
}
const run = (program: string, args: readonly string[], input?: Buffer) => {
  const { username, pathname } = new URL(mariadb.url)
  const where = ['--no-defaults', '-h', '127.0.0.1', '-P', `${mariadb.port}`, '-u', username, '--protocol', 'tcp']
  const skip = ['--skip-ssl']
  return execFileSync(program, [...where, ...skip, ...args, pathname.slice(1)], { input, maxBuffer: 1e9 })
}
const dump = () => join(mariadb.folder, 'dump.sql')
const backUp = (...more: string[]) => writeFileSync(dump(), run('mariadb-dump', more))
/** The creation time of a table has whole seconds. */
const untilNextSecond = async () => {
  const second = Math.floor(Date.now() / 1000)
  await eventually('another second begins', () => Math.floor(Date.now() / 1000) > second)
}

test('by mariadb-dump', async () => {
  const { lost, store } = await restoreUnnoticed({
    open,
    backUp: () => backUp(),
    restore: async () => {
      await untilNextSecond()
      run('mariadb', [], readFileSync(dump()))
    },
  })
  await expectAnotherLog(store, lost)
})

test('by a copy of its files', async () => {
  const copy = join(mariadb.folder, 'copy')
  const copied = async (from: string, to: string) => {
    await mariadb.kill()
    rmSync(to, { recursive: true, force: true })
    execFileSync('cp', ['-a', from, to])
    await mariadb.startAgain()
  }
  const { lost, store } = await restoreUnnoticed({
    open,
    backUp: () => copied(mariadb.data, copy),
    restore: () => copied(copy, mariadb.data),
  })
  await expectAnotherLog(store, lost)
})

test('row by row, which only the record of an earlier process reveals', async () => {
  const { lost, store } = await restoreUnnoticed({
    open,
    backUp: () => backUp('--no-create-info', '--replace', '--skip-triggers'),
    restore: () => void run('mariadb', [], readFileSync(dump())),
  })
  expect(store.log).toBe(lost.log)
  await store.close()
  await expectAnotherLog(await open(lost), lost)
})

test('a restart of the server over the database keeps the log', async () => {
  const store = await open()
  const { log } = store
  await put(store, 'a/b/1')
  await store.close()
  expect((await open()).log).toBe(log)
})
