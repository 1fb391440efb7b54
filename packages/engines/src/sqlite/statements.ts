/**
 * All statements, and their tables. Keys are compared byte by byte (SQLite's BINARY). A statement about several keys runs
 * once for each of them: within one process that costs less than a list as a parameter.
 */
import { LEASE_MS } from '@freshet/store/clock'

/** Identifies the file as ours (PRAGMA application_id): "Frsh". */
export const APPLICATION_ID = 0x46_72_73_68
/** PRAGMA user_version. */
export const FORMAT_VERSION = 1

export const TABLES = `
  CREATE TABLE head (
    single INTEGER PRIMARY KEY CHECK (single = 1),
    log TEXT NOT NULL,
    position INTEGER NOT NULL,
    trimmed_to INTEGER NOT NULL,
    time_ms REAL NOT NULL,
    -- By the machine's monotonic clock, which all its processes share.
    set_ms REAL NOT NULL,
    -- The identity of the file when it was last opened (attach.ts).
    file TEXT NOT NULL,
    index_numbers TEXT NOT NULL
  ) STRICT;
  -- sum: see rows.ts.
  CREATE TABLE objects (
    key TEXT PRIMARY KEY, version INTEGER NOT NULL, content_type TEXT NOT NULL, body BLOB NOT NULL, sum INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE buckets (bucket TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE log (position INTEGER PRIMARY KEY, batch TEXT NOT NULL, record BLOB NOT NULL, sum INTEGER NOT NULL) STRICT;
  CREATE TABLE memory (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE holders (name TEXT PRIMARY KEY, holder TEXT NOT NULL, until_ms REAL NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE indexes (bucket TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE entries (entry BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
  CREATE TABLE tags (tag TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE clients (client TEXT PRIMARY KEY, last_ms REAL NOT NULL, operations TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX clients_by_time ON clients (last_ms);
  CREATE TABLE operations (id TEXT PRIMARY KEY, time_ms REAL NOT NULL, done TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX operations_by_time ON operations (time_ms);
`

/** In statements that need the machine's time, it is the first parameter. */
const ENGINE_MS = '?1'
/** The store's time; see fleet-clock.ts of @freshet/store. */
const TIME_MS = `(time_ms + min(max(${ENGINE_MS} - set_ms, 0), ${LEASE_MS}))`

function page(direction: 'ASC' | 'DESC'): string {
  return `
    SELECT key, version, content_type, body, sum FROM objects
    WHERE key >= ?1 AND key <= ?2 AND (?3 OR key <> ?1) AND (?4 OR key <> ?2) ORDER BY key ${direction} LIMIT ?5`
}

const texts = {
  begin: 'BEGIN',
  beginWrite: 'BEGIN IMMEDIATE',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  dataVersion: 'PRAGMA data_version',

  value: 'SELECT key, version, content_type, body, sum FROM objects WHERE key = ?',
  page: page('ASC') as string,
  pageDown: page('DESC') as string,
  count: 'SELECT count(*) FROM objects WHERE key >= ? AND key < ?',
  bucket: 'SELECT bucket, version FROM buckets WHERE bucket = ?',
  buckets: 'SELECT bucket, version FROM buckets ORDER BY bucket',
  head: `SELECT position, ${TIME_MS}, trimmed_to, log FROM head`,
  changes: 'SELECT position, record, batch, sum FROM log WHERE position > ? ORDER BY position LIMIT ?',
  changedAfter: 'SELECT position, record, batch, sum FROM log WHERE position > ? ORDER BY position DESC LIMIT ?',
  isCommitted: 'SELECT 1 FROM log WHERE position = ? AND batch = ?',
  recall: 'SELECT value FROM memory WHERE name = ?',
  index: 'SELECT bucket, record FROM indexes WHERE bucket = ?',
  numbers: 'SELECT index_numbers FROM head',
  unfinished: `SELECT bucket FROM indexes WHERE record LIKE '%"isReady":false%'`,
  tag: 'SELECT tag, position FROM tags WHERE tag = ?',
  entries: 'SELECT entry FROM entries WHERE entry >= ? AND entry < ? ORDER BY entry LIMIT ?',
  entriesDown: 'SELECT entry FROM entries WHERE entry >= ? AND entry < ? ORDER BY entry DESC LIMIT ?',
  client: 'SELECT client, operations FROM clients WHERE client = ?',
  foreign: 'SELECT id, done FROM operations WHERE id = ?',
  countOperations: `
    SELECT (SELECT count(*) FROM clients), (SELECT count(*) FROM operations),
      (SELECT coalesce(sum(pgsize), 0) FROM dbstat
       WHERE name IN ('clients', 'clients_by_time', 'operations', 'operations_by_time') AND aggregate)`,

  state: `SELECT position, max(?2, ${TIME_MS}), trimmed_to, index_numbers, ${ENGINE_MS} FROM head`,
  putValue: `
    INSERT INTO objects VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE
    SET version = excluded.version, content_type = excluded.content_type, body = excluded.body, sum = excluded.sum`,
  removeValue: 'DELETE FROM objects WHERE key = ?',
  putBucket: 'INSERT INTO buckets VALUES (?, ?) ON CONFLICT (bucket) DO UPDATE SET version = excluded.version',
  putLog: 'INSERT INTO log VALUES (?, ?, ?, ?)',
  move: 'UPDATE head SET position = ?, time_ms = ?, set_ms = ?',
  putNumbers: 'UPDATE head SET index_numbers = ?',
  putIndex: 'INSERT INTO indexes VALUES (?, ?) ON CONFLICT (bucket) DO UPDATE SET record = excluded.record',
  putEntry: 'INSERT INTO entries VALUES (?) ON CONFLICT DO NOTHING',
  dropEntry: 'DELETE FROM entries WHERE entry = ?',
  putTag: 'INSERT INTO tags VALUES (?, ?) ON CONFLICT (tag) DO UPDATE SET position = excluded.position',
  putClient: `
    INSERT INTO clients VALUES (?, ?, ?) ON CONFLICT (client)
    DO UPDATE SET last_ms = excluded.last_ms, operations = excluded.operations`,
  putForeign: `
    INSERT INTO operations VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET time_ms = excluded.time_ms, done = excluded.done`,

  tick: `UPDATE head SET time_ms = max(?2, ${TIME_MS}), set_ms = ${ENGINE_MS} RETURNING position, time_ms, trimmed_to, log`,
  remember: 'INSERT INTO memory VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  hold: `
    INSERT INTO holders SELECT ?2, ?3, ${TIME_MS} + ?4 FROM head WHERE true ON CONFLICT (name)
    DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms
    WHERE holders.holder = excluded.holder OR holders.until_ms <= excluded.until_ms - ?4 RETURNING 1`,
  trim: 'UPDATE head SET trimmed_to = min(?1, position) WHERE trimmed_to < min(?1, position)',
  deleteTrimmed: `
    DELETE FROM log WHERE position IN (
      SELECT position FROM log WHERE position <= (SELECT trimmed_to FROM head) ORDER BY position LIMIT ?) RETURNING 1`,
  forgetClients: `
    DELETE FROM clients WHERE client IN (SELECT client FROM clients WHERE last_ms < ? ORDER BY last_ms LIMIT ?) RETURNING 1`,
  forgetForeign: `
    DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE time_ms < ? ORDER BY time_ms LIMIT ?) RETURNING 1`,
  removeEntries: `
    DELETE FROM entries WHERE entry IN (
      SELECT entry FROM entries WHERE entry >= ? AND entry < ? ORDER BY entry LIMIT ?) RETURNING 1`,

  found: 'SELECT log, position, trimmed_to, file FROM head',
  noteFile: 'UPDATE head SET file = ?',
  beginLog: 'UPDATE head SET log = ?, position = ?, trimmed_to = ?',
}

export type StatementName = keyof typeof texts

/** Statements whose first parameter is the machine's time when they run, which is after the wait for the lock. */
export const TIMED: ReadonlySet<StatementName> = new Set(['head', 'state', 'tick', 'hold'])

export const STATEMENTS: Readonly<Record<StatementName, string>> = texts
