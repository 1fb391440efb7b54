/**
 * The same work in SQLite with the driver: the store's upserts and selects, prepared, on one connection per process, each upsert
 * in its own transaction that is on disk when it returns. The driver is synchronous: nothing else is in flight.
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
/** How long an upsert waits for an upsert of the other process. */
const BUSY_MS_MAX = 20_000

export async function openSqliteTarget({ url, store, inFlight }: EnginesSettings): Promise<Target> {
  const database = new DatabaseSync(sqlitePathBeside(url, store), { timeout: BUSY_MS_MAX })
  database.exec(`${SETTINGS}; ${TABLE}`)
  const [upsert, select] = [database.prepare(UPSERT), database.prepare(SELECT)]
  let reads = 0
  return {
    commit: async ([key]) => {
      // Keeps a reference to the database: once it is collected, using one of its statements crashes the process.
      if (database.isOpen) upsert.run(key!, 1, TYPE, BODY)
    },
    get: async key => {
      select.get(key)
      // Yields as often as a driver that waits would. Otherwise no timer fires, and nothing changes during the reads.
      if (++reads % inFlight === 0) await eventLoopTurn()
    },
    batch: 1,
  }
}
