/**
 * What is done in SQLite with the driver: the store's upserts and selects, prepared, on one connection of each process, each upsert in a
 * transaction of its own that is on disk when it returns. The driver is synchronous: nothing is in flight beside it.
 */
import { setImmediate as eventLoopTurn } from 'node:timers/promises'
import { DatabaseSync } from '@photostructure/sqlite'
import { sqlitePathBeside } from '../../engines/sqlite.js'
import { BODY, type EnginesSettings, type Target, TYPE } from './engine-target.js'

const SETTINGS = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON'
const TABLE =
  'CREATE TABLE IF NOT EXISTS plain (key TEXT PRIMARY KEY, version INTEGER, type TEXT, body BLOB) WITHOUT ROWID'
const UPSERT =
  'INSERT INTO plain VALUES (?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET version = excluded.version, body = excluded.body'
const SELECT = 'SELECT version, type, body FROM plain WHERE key = ?'
/** How long an upsert waits for one of the other process. */
const BUSY_MS_MAX = 20_000

export async function openSqliteTarget({ url, store, inFlight }: EnginesSettings): Promise<Target> {
  const database = new DatabaseSync(sqlitePathBeside(url, store), { timeout: BUSY_MS_MAX })
  database.exec(`${SETTINGS}; ${TABLE}`)
  const [upsert, select] = [database.prepare(UPSERT), database.prepare(SELECT)]
  let reads = 0
  return {
    commit: async ([key]) => {
      // Refers to the database: once that is collected, using a statement of it crashes the process.
      if (database.isOpen) upsert.run(key!, 1, TYPE, BODY)
    },
    get: async key => {
      select.get(key)
      // As often as a driver that waits would: else no timer fires, and nothing is changed meanwhile.
      if (++reads % inFlight === 0) await eventLoopTurn()
    },
    batch: 1,
  }
}
