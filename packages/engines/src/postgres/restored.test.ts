/** A database that was restored by the tools of PostgreSQL while no server ran: the log becomes another one. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LogPlace, Store } from '@freshet/core/store'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { eventually } from '../under-test/eventually.js'
import { endPostgres, type RunningPostgres, startPostgres } from '../under-test/start-postgres.js'
import { expectAnotherLog, restoreUnnoticed } from '../under-test/test-restored.js'
import { openPostgresStore } from './open-postgres-store.js'

const stores: Store[] = []
let postgres: RunningPostgres

beforeAll(async () => {
  postgres = await startPostgres()
})
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close()
})
afterAll(endPostgres)

const file = () => join(postgres.folder, 'dump')
const run = (program: string, ...args: string[]) =>
  execFileSync(program, ['-h', '127.0.0.1', '-p', `${postgres.port}`, '-U', postgres.user, ...args])
const sql = (text: string) => run('psql', '-d', 'postgres', '-q', '-v', 'ON_ERROR_STOP=1', '-c', text)
const open = async (recalled?: LogPlace) => {
  const store = await openPostgresStore({ url: postgres.url, onWarning: () => {}, recalled })
  stores.push(store)
  return store
}

test.each([
  [
    'pg_dump and pg_restore',
    () => run('pg_dump', '-Fc', '-n', 'freshet', '-f', file(), 'postgres'),
    () => {
      sql('DROP SCHEMA freshet CASCADE')
      run('pg_restore', '-d', 'postgres', file())
    },
  ],
  [
    'pg_restore --clean',
    () => run('pg_dump', '-Fc', '-n', 'freshet', '-f', file(), 'postgres'),
    () => run('pg_restore', '--clean', '-d', 'postgres', file()),
  ],
  [
    'TRUNCATE and pg_restore --data-only',
    () => run('pg_dump', '-Fc', '-n', 'freshet', '-f', file(), 'postgres'),
    () => {
      const tables = run(
        'psql',
        '-d',
        'postgres',
        '-At',
        '-c',
        "SELECT string_agg('freshet.' || tablename, ', ') FROM pg_tables WHERE schemaname = 'freshet'",
      )
      sql(`TRUNCATE ${String(tables).trim()}`)
      run('pg_restore', '--data-only', '--disable-triggers', '-d', 'postgres', file())
    },
  ],
] as const)('by %s', async (_, backUp, restore) => {
  const { lost, store } = await restoreUnnoticed({ open, backUp: () => void backUp(), restore: () => void restore() })
  await expectAnotherLog(store, lost)
})

test('by a copy of its files, such as a snapshot of the volume', async () => {
  const copy = join(postgres.folder, 'copy')
  const copied = (from: string, to: string) => {
    rmSync(to, { recursive: true, force: true })
    execFileSync('cp', ['-a', from, to])
  }
  const { lost, store } = await restoreUnnoticed({
    open,
    backUp: async () => {
      await postgres.shutDown()
      copied(postgres.data, copy)
      await postgres.startAgain()
    },
    restore: async () => {
      await postgres.shutDown()
      copied(copy, postgres.data)
      await postgres.startAgain()
    },
  })
  await expectAnotherLog(store, lost)
})

const DUMPED = ['head', 'objects', 'buckets', 'log', 'skipped']
const dumpRows = () => {
  for (const table of DUMPED) sql(`\\copy freshet.${table} TO '${file()}-${table}'`)
}
const putRowsBack = () => {
  for (const table of DUMPED) {
    sql(`DELETE FROM freshet.${table}`)
    sql(`\\copy freshet.${table} FROM '${file()}-${table}'`)
  }
}

test('row by row, which only the record of an earlier process reveals', async () => {
  const { lost, store } = await restoreUnnoticed({ open, backUp: dumpRows, restore: putRowsBack })
  expect(store.log).toBe(lost.log)
  await store.close()
  await expectAnotherLog(await open(lost), lost)
})

test('row by row under a running server, which notices by itself', async () => {
  const store = await open()
  await put(store, 'a/b/1')
  dumpRows()
  let position = 0
  for (let i = 0; i < 4; i++) position = await put(store, 'a/b/1')
  const lost = { log: store.log, position }
  putRowsBack()
  await eventually('it notices', async () => {
    await store.trimmedTo()
    return store.log !== lost.log
  })
  await expectAnotherLog(store, lost)
})

test('an ordinary restart of the database under a server, or of the server over the database, keeps the log', async () => {
  const store = await open()
  const { log } = store
  await put(store, 'a/b/1')
  await postgres.shutDown()
  await postgres.startAgain()
  await put(store, 'a/b/1')
  expect(store.log).toBe(log)
  await store.close()
  expect((await open()).log).toBe(log)
})
