import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqliteStore } from '@freshet/engines/sqlite'
import { DatabaseSync } from '@photostructure/sqlite'
import { afterAll, expect, test } from 'vitest'
import { put } from '../under-test/commits.js'
import { testFleetStore } from '../under-test/test-fleet-store.js'
import { testSqlUpkeep } from '../under-test/test-sql-upkeep.js'

const folder = mkdtempSync(join(tmpdir(), 'freshet-sqlite-'))
const aFile = () => join(folder, `${randomBytes(6).toString('hex')}.db`)

afterAll(() => rmSync(folder, { recursive: true }))

testFleetStore(
  () => {
    const path = aFile()
    return () => openSqliteStore({ path })
  },
  { isWholeAlone: true },
)

testSqlUpkeep({
  async open(options) {
    const path = aFile()
    const store = await openSqliteStore({ path, ...options })
    const other = new DatabaseSync(path, { timeout: 5000 })
    const readCell = (query: string) => Object.values(other.prepare(query).get() ?? {})[0]
    return {
      store,
      countEntries: async () => Number(readCell('SELECT count(*) FROM entries')),
      indexNumbers: async () => String(readCell('SELECT index_numbers FROM head')),
      async close() {
        other.close()
        await store.close()
      },
    }
  },
})

test('no other account may read the file, its log or its index', async () => {
  const path = aFile()
  const store = await openSqliteStore({ path })
  await put(store, 'a/b/1')
  for (const name of ['', '-wal', '-shm', '-place']) expect(statSync(path + name).mode & 0o077).toBe(0)
  await store.close()
})
