/**
 * All statements, and their tables. Each is prepared once per connection; lists are passed as arrays. None depends on
 * statistics: our connections always use indexes (`SETTINGS`).
 */
import { LEASE_MS } from '@freshet/store/clock'

export const FORMAT_VERSION = 1
/** The format of a store with tables of other programs that are buckets. */
export const SHARED_FORMAT_VERSION = 2

/** Names have no schema: each connection sets it. */
export const TABLES = `
  CREATE TABLE head (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    format integer NOT NULL,
    log text NOT NULL,
    position bigint NOT NULL,
    trimmed_to bigint NOT NULL,
    time_ms double precision NOT NULL,
    -- By the engine's clock, since 1970.
    set_ms double precision NOT NULL,
    -- The database on which this was last used (attach.ts).
    engine text NOT NULL,
    index_numbers text NOT NULL
  ) WITH (fillfactor = 10);
  CREATE TABLE objects (
    key text COLLATE "C" PRIMARY KEY,
    version bigint NOT NULL,
    content_type text NOT NULL,
    body bytea NOT NULL
  );
  CREATE TABLE buckets (bucket text COLLATE "C" PRIMARY KEY, version bigint NOT NULL) WITH (fillfactor = 50);
  CREATE TABLE log (position bigint PRIMARY KEY, batch uuid NOT NULL, record bytea NOT NULL);
  CREATE TABLE memory (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
  CREATE UNLOGGED TABLE holders (name text COLLATE "C" PRIMARY KEY, holder text NOT NULL, until_ms double precision NOT NULL);
  CREATE TABLE indexes (bucket text COLLATE "C" PRIMARY KEY, record text NOT NULL);
  CREATE TABLE entries (entry bytea PRIMARY KEY);
  CREATE TABLE tags (tag text COLLATE "C" PRIMARY KEY, position bigint NOT NULL);
  CREATE TABLE clients (client text COLLATE "C" PRIMARY KEY, last_ms double precision NOT NULL, operations text NOT NULL);
  CREATE INDEX clients_by_time ON clients (last_ms);
  CREATE TABLE operations (id text COLLATE "C" PRIMARY KEY, time_ms double precision NOT NULL, done text NOT NULL);
  CREATE INDEX operations_by_time ON operations (time_ms);
`

/** The tables that reveal a loss (attach.ts). Created when a store that lacks them is opened. */
export const ATTACH_TABLES = `
  -- Positions between these, excluding both, were never given.
  CREATE TABLE IF NOT EXISTS skipped (ended bigint PRIMARY KEY, begun bigint NOT NULL);
  -- When the engine was started; empty after a crash.
  CREATE UNLOGGED TABLE IF NOT EXISTS started (single boolean PRIMARY KEY DEFAULT true CHECK (single), at text NOT NULL);
`

/** The tables about buckets that are tables of other programs (tables/). Created when a store that lacks them is opened. */
export const SHARED_TABLES = `
  CREATE TABLE IF NOT EXISTS exposed (number integer PRIMARY KEY, bucket text NOT NULL UNIQUE, record text NOT NULL);
  -- Rows of such tables that were changed, by any program, and are not in the log yet.
  CREATE TABLE IF NOT EXISTS incoming (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    exposed integer NOT NULL,
    id text NOT NULL,
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    -- The row was there before the table became a bucket.
    is_backfill boolean NOT NULL DEFAULT false
  );
  -- Tables whose rows are still to be noted.
  CREATE TABLE IF NOT EXISTS unnoted (exposed integer PRIMARY KEY);
  CREATE INDEX IF NOT EXISTS incoming_now ON incoming (seq) WHERE NOT is_backfill;
  CREATE INDEX IF NOT EXISTS incoming_ids ON incoming (exposed, id);
`

/**
 * The tables may be new and without statistics, or have grown tenfold since: a plan that uses the index is always right.
 * (Without "jit = off" the cost set for the other plans would make the database compile each statement.)
 */
export const SETTINGS = `
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
  SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET IntervalStyle = 'iso_8601'; SET bytea_output = 'hex'; SET extra_float_digits = 1;
`

const ENGINE_MS = '(EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::float8'
/** The store's time; see fleet-clock.ts of @freshet/store. */
const TIME_MS = `time_ms + LEAST(GREATEST(engine.ms - set_ms, 0), ${LEASE_MS})`
const ENGINE = `(SELECT ${ENGINE_MS} AS ms) engine`

/** A page of objects, the version of their bucket, and the position, all of one state. */
function page(direction: 'ASC' | 'DESC'): string {
  return `
    SELECT head.position, buckets.version, o.key, o.version, o.content_type, o.body
    FROM head LEFT JOIN buckets ON buckets.bucket = $1
    LEFT JOIN LATERAL (
      SELECT key, version, content_type, body FROM objects
      WHERE key >= $2 AND key <= $3 AND ($4 OR key <> $2) AND ($5 OR key <> $3)
      ORDER BY key ${direction} LIMIT $6
    ) o ON true ORDER BY o.key ${direction}`
}

const PAGE_UP: string = page('ASC')
const PAGE_DOWN: string = page('DESC')

const texts = {
  values: `
    SELECT head.position, o.key, o.version, o.content_type, o.body
    FROM head LEFT JOIN objects o ON o.key = ANY ($1::text[])`,
  page: PAGE_UP as string,
  pageDown: PAGE_DOWN as string,
  buckets: 'SELECT bucket, version FROM buckets ORDER BY bucket',
  tables: 'SELECT record FROM exposed',
  head: `
    SELECT position, ${TIME_MS}, trimmed_to, EXISTS (SELECT FROM incoming WHERE NOT is_backfill), EXISTS (SELECT FROM exposed),
      log
    FROM head, ${ENGINE}`,
  changes: `
    SELECT head.log, head.trimmed_to, l.position, l.record FROM head
    LEFT JOIN LATERAL (SELECT position, record FROM log WHERE position > $1 ORDER BY position LIMIT $2) l ON true
    ORDER BY l.position`,
  recall: 'SELECT value FROM memory WHERE name = $1',
  remember: 'INSERT INTO memory VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value',
  hold: `
    INSERT INTO holders SELECT $1, $2, ${TIME_MS} + $3::float8 FROM head, ${ENGINE} ON CONFLICT (name)
    DO UPDATE SET holder = EXCLUDED.holder, until_ms = EXCLUDED.until_ms
    WHERE holders.holder = EXCLUDED.holder OR holders.until_ms <= EXCLUDED.until_ms - $3::float8 RETURNING 1`,
  indexes: `
    SELECT head.position, buckets.version, indexes.record FROM head
    LEFT JOIN buckets ON buckets.bucket = $1 LEFT JOIN indexes ON indexes.bucket = $1`,
  tagVersions: 'SELECT tag, position FROM tags WHERE tag = ANY ($1::text[])',
  entries: 'SELECT entry FROM entries WHERE entry >= $1 AND entry < $2 ORDER BY entry LIMIT $3',
  entriesDown: 'SELECT entry FROM entries WHERE entry >= $1 AND entry < $2 ORDER BY entry DESC LIMIT $3',
  unfinished: `
    SELECT (SELECT index_numbers FROM head), ARRAY(SELECT bucket FROM indexes WHERE record LIKE '%"isReady":false%')::text[]`,
  countOperations: `
    SELECT (SELECT count(*) FROM clients), (SELECT count(*) FROM operations),
      pg_total_relation_size('clients') + pg_total_relation_size('operations')`,

  trim: `
    UPDATE head SET trimmed_to = LEAST(GREATEST(trimmed_to, $1), position)
    WHERE trimmed_to < LEAST($1, position)`,
  deleteTrimmed: `
    DELETE FROM log WHERE position IN (
      SELECT position FROM log WHERE position <= (SELECT trimmed_to FROM head) ORDER BY position LIMIT $1) RETURNING position`,
  forgetClients: `
    DELETE FROM clients WHERE client IN (
      SELECT client FROM clients WHERE last_ms < $1 ORDER BY last_ms LIMIT $2) AND last_ms < $1 RETURNING 1`,
  forgetForeign: `
    DELETE FROM operations WHERE id IN (
      SELECT id FROM operations WHERE time_ms < $1 ORDER BY time_ms LIMIT $2) AND time_ms < $1 RETURNING 1`,
  removeEntries: `
    DELETE FROM entries WHERE entry IN (
      SELECT entry FROM entries WHERE entry >= $1 AND entry < $2 ORDER BY entry LIMIT $3) RETURNING 1`,

  // Separate from the reads of the head: in one statement they would see the state from before the wait.
  lock: 'SELECT FROM head FOR UPDATE',
  state: `
    SELECT position, GREATEST($1::float8, ${TIME_MS}), trimmed_to, index_numbers, engine.ms,
      (SELECT string_agg(record, E'\\n' ORDER BY number) FROM exposed),
      EXISTS (SELECT FROM incoming WHERE NOT is_backfill), indexes.bucket, indexes.record
    FROM head CROSS JOIN ${ENGINE} LEFT JOIN indexes ON indexes.bucket = ANY ($2::text[])`,
  lockedValues: 'SELECT key, version, content_type, body FROM objects WHERE key = ANY ($1::text[])',
  lockedBuckets: 'SELECT bucket, version FROM buckets WHERE bucket = ANY ($1::text[])',
  lockedClients: 'SELECT client, operations FROM clients WHERE client = ANY ($1::text[])',
  lockedForeign: 'SELECT id, done FROM operations WHERE id = ANY ($1::text[])',
  count: 'SELECT count(*) FROM objects WHERE key >= $1 AND key < $2',
  changedAfter: 'SELECT position, record FROM log WHERE position > $1 ORDER BY position DESC LIMIT $2',

  removeValues: 'DELETE FROM objects WHERE key = ANY ($1::text[])',
  putIndexes: `
    INSERT INTO indexes SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT (bucket)
    DO UPDATE SET record = EXCLUDED.record`,
  putEntries: 'INSERT INTO entries SELECT * FROM unnest($1::bytea[]) ON CONFLICT DO NOTHING',
  dropEntries: 'DELETE FROM entries WHERE entry = ANY ($1::bytea[])',
  putTags: `
    INSERT INTO tags SELECT * FROM unnest($1::text[], $2::bigint[]) ON CONFLICT (tag)
    DO UPDATE SET position = EXCLUDED.position`,
  putClients: `
    INSERT INTO clients SELECT * FROM unnest($1::text[], $2::float8[], $3::text[]) ON CONFLICT (client)
    DO UPDATE SET last_ms = EXCLUDED.last_ms, operations = EXCLUDED.operations`,
  putForeign: `
    INSERT INTO operations SELECT * FROM unnest($1::text[], $2::float8[], $3::text[]) ON CONFLICT (id)
    DO UPDATE SET time_ms = EXCLUDED.time_ms, done = EXCLUDED.done`,
  // What every commit writes, in one statement.
  putCommits: `
    WITH put_values AS (
      INSERT INTO objects SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[]) ON CONFLICT (key)
      DO UPDATE SET version = EXCLUDED.version, content_type = EXCLUDED.content_type, body = EXCLUDED.body
    ), put_buckets AS (
      INSERT INTO buckets SELECT * FROM unnest($5::text[], $6::bigint[]) ON CONFLICT (bucket)
      DO UPDATE SET version = EXCLUDED.version
    ), put_log AS (
      INSERT INTO log VALUES ($7::bigint, $8, $9)
    ), moved AS (
      UPDATE head SET position = $7::bigint, time_ms = $10, set_ms = $11
    ) SELECT pg_notify($12, $7::bigint::text)`,
  // For a transaction that has taken no position.
  putTime: 'UPDATE head SET time_ms = $1, set_ms = $2',
  putNumbers: 'UPDATE head SET index_numbers = $1',
  tick: `UPDATE head SET time_ms = GREATEST($1::float8, ${TIME_MS}), set_ms = engine.ms FROM ${ENGINE}
    RETURNING position, time_ms, trimmed_to`,
  // Whether it is in the log; and whether the answer is certain: that part of the log remains, or was skipped.
  isCommitted: `
    SELECT EXISTS (SELECT FROM log WHERE position = $1 AND batch = $2),
      trimmed_to < $1 OR EXISTS (SELECT FROM log WHERE position < $1) OR
      EXISTS (SELECT FROM skipped WHERE ended < $1 AND begun > $1)
    FROM head`,
}

export type StatementName = keyof typeof texts

export const STATEMENTS: Readonly<Record<StatementName, string>> = texts
