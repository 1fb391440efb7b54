/**
 * The tables and statements of a store in Cassandra. One keyspace may hold several stores: `store` is the name of one, and
 * is part of every partition key.
 *
 *     log         The truth. A partition has SLOTS_PER_PART slots, each a record of one or many commits; `head`, a static
 *                 column of the partition, is its last slot, and an append is conditional on it.
 *                   id        random, for each record: it identifies a record whose append was not answered
 *                   state     the state after the record: LogState of `log-record.ts`, JSON
 *                   changed   the keys of its commits, with its time: the bytes that `encodeLogBatch` of
 *                             @freshet/store/records draws
 *                   objects, buckets, clients, operations, memory: the changes of the tables below; no bytes: deleted
 *                   indexing  the changes of the tables of indexes, as `record-columns.ts` draws them. It is one column because
 *                             each answer describes each column, and most answers about the end of the log hold no record
 *     objects     a bucket is a partition; `value` has the bytes that `encodeValue` draws. A bucket's own record has OWN_ID
 *     buckets     the position of the last change of each
 *     clients     windows of clients, and when they were last changed: JSON of ../sql/operation-records.ts; in SHARDS partitions
 *     operations  the results of foreign operations, likewise
 *     memory      small values that the store remembers by name
 *     index_records  the indexes of each bucket: the bytes of `encodeIndexes`
 *     tags        the position of the last change that carries each tag; in SHARDS partitions
 *     index_entries  an index is a partition; `entry` has the bytes that `index-keys.ts` of @freshet/store draws
 *     holders     which process holds a name, and until when by the store's clock
 *     clocks      the store's time, and the offset that each machine adds to its own clock
 *     parts       the newest partition of the log, or a slightly older one
 *
 * Each row of the tables below the log has the stamp of its record as its timestamp. So any server can write it, late and any
 * number of times. In `clocks` and `parts` the timestamp is the value itself, so the highest value that was written stays.
 *
 * Stores that earlier versions made have neither the column `indexing` nor the tables `index_records`, `tags` and
 * `index_entries`: the server that opens one adds them.
 */

export const SLOTS_PER_PART = 512
export const SHARDS = 64
/** No id contains this character, and it sorts before all others. */
export const OWN_ID = '\0'

/** The column of `log` that stores made by earlier versions lack. */
export const INDEXING_COLUMN = 'indexing frozen<map<text, blob>>'

/** The columns of each table. The table's id is derived from them, so servers that create it at the same time agree on the id. */
export const TABLES: Readonly<Record<string, string>> = {
  log: `store text, part bigint, slot bigint, head bigint STATIC, id text, state text, changed blob,
    objects frozen<map<text, blob>>, buckets frozen<map<text, bigint>>, clients frozen<map<text, text>>,
    operations frozen<map<text, text>>, memory frozen<map<text, blob>>, ${INDEXING_COLUMN},
    PRIMARY KEY ((store, part), slot)`,
  objects: 'store text, bucket text, id text, value blob, PRIMARY KEY ((store, bucket), id)',
  buckets: 'store text, bucket text, position bigint, PRIMARY KEY (store, bucket)',
  clients: 'store text, shard int, id text, record text, PRIMARY KEY ((store, shard), id)',
  operations: 'store text, shard int, id text, record text, PRIMARY KEY ((store, shard), id)',
  memory: 'store text, name text, value blob, PRIMARY KEY (store, name)',
  index_records: 'store text, bucket text, record blob, PRIMARY KEY (store, bucket)',
  tags: 'store text, shard int, id text, position bigint, PRIMARY KEY ((store, shard), id)',
  index_entries: 'store text, number bigint, entry blob, PRIMARY KEY ((store, number), entry)',
  holders: 'store text, name text, holder text, until double, PRIMARY KEY ((store, name))',
  clocks: 'store text, name text, value double, PRIMARY KEY (store, name)',
  parts: 'store text PRIMARY KEY, part bigint',
}

const LOG_COLUMNS = 'slot, id, state, changed, objects, buckets, clients, operations, memory, indexing'
const RECORDS = `SELECT ${LOG_COLUMNS} FROM log WHERE store = ? AND part = ?`

const ENTRIES = 'SELECT entry FROM index_entries WHERE store = ? AND number = ?'

/** How a range of ids in a bucket begins and ends. */
type Range = `${'>' | '>='} ${'<' | '<=' | 'end'} ${'ASC' | 'DESC'}`

export type RangeName = `objects ${Range}`

function rangeStatements(): Readonly<Record<RangeName, string>> {
  const found: [string, string][] = []
  for (const low of ['>', '>=']) {
    for (const high of ['<', '<=', 'end']) {
      for (const order of ['ASC', 'DESC']) {
        const upTo = high === 'end' ? '' : ` AND id ${high} ?`
        const where = `store = ? AND bucket = ? AND id ${low} ?${upTo}`
        const query = `SELECT id, value FROM objects WHERE ${where} ORDER BY id ${order} LIMIT ?`
        found.push([`objects ${low} ${high} ${order}`, query])
      }
    }
  }
  return Object.fromEntries(found) as Record<RangeName, string>
}

const statements = {
  append: `UPDATE log SET head = ?, id = ?, state = ?, changed = ?, objects = ?, buckets = ?, clients = ?, operations = ?, memory = ?, indexing = ?
    WHERE store = ? AND part = ? AND slot = ? IF head = ?`,
  records: `${RECORDS} AND slot > ? LIMIT ?`,
  lastRecord: `${RECORDS} ORDER BY slot DESC LIMIT 1`,
  changes: 'SELECT slot, state, changed FROM log WHERE store = ? AND part = ? AND slot > ? LIMIT ?',
  // This keeps the partition's `head`, so that a late server cannot append to a deleted slot again.
  dropPart: 'DELETE FROM log WHERE store = ? AND part = ? AND slot >= 0',
  head: 'SELECT head FROM log WHERE store = ? AND part = ? LIMIT 1',
  part: 'SELECT part FROM parts WHERE store = ?',
  setPart: 'INSERT INTO parts (store, part) VALUES (?, ?) USING TIMESTAMP ?',

  object: 'SELECT value FROM objects WHERE store = ? AND bucket = ? AND id = ?',
  objects: 'SELECT id, value FROM objects WHERE store = ? AND bucket = ? AND id IN ?',
  ids: 'SELECT id FROM objects WHERE store = ? AND bucket = ?',
  putObject: 'INSERT INTO objects (store, bucket, id, value) VALUES (?, ?, ?, ?) USING TIMESTAMP ?',
  dropObject: 'DELETE FROM objects USING TIMESTAMP ? WHERE store = ? AND bucket = ? AND id = ?',
  buckets: 'SELECT bucket, position FROM buckets WHERE store = ?',
  bucketsIn: 'SELECT bucket, position FROM buckets WHERE store = ? AND bucket IN ?',
  putBucket: 'INSERT INTO buckets (store, bucket, position) VALUES (?, ?, ?) USING TIMESTAMP ?',
  memory: 'SELECT value FROM memory WHERE store = ? AND name = ?',
  putMemory: 'INSERT INTO memory (store, name, value) VALUES (?, ?, ?) USING TIMESTAMP ?',

  indexes: 'SELECT bucket, record FROM index_records WHERE store = ?',
  indexesIn: 'SELECT bucket, record FROM index_records WHERE store = ? AND bucket IN ?',
  putIndexes: 'INSERT INTO index_records (store, bucket, record) VALUES (?, ?, ?) USING TIMESTAMP ?',
  tags: 'SELECT id, position FROM tags WHERE store = ? AND shard = ? AND id IN ?',
  putTag: 'INSERT INTO tags (store, shard, id, position) VALUES (?, ?, ?, ?) USING TIMESTAMP ?',
  entries: `${ENTRIES} AND entry >= ? AND entry < ? LIMIT ?`,
  entriesAfter: `${ENTRIES} AND entry > ? AND entry < ? LIMIT ?`,
  entriesDescending: `${ENTRIES} AND entry >= ? AND entry < ? ORDER BY entry DESC LIMIT ?`,
  putEntry: 'INSERT INTO index_entries (store, number, entry) VALUES (?, ?, ?) USING TIMESTAMP ?',
  dropEntry: 'DELETE FROM index_entries USING TIMESTAMP ? WHERE store = ? AND number = ? AND entry = ?',
  dropEntries: 'DELETE FROM index_entries USING TIMESTAMP ? WHERE store = ? AND number = ?',

  clients: 'SELECT id, record FROM clients WHERE store = ? AND shard = ? AND id IN ?',
  operations: 'SELECT id, record FROM operations WHERE store = ? AND shard = ? AND id IN ?',
  allClients: 'SELECT id, record FROM clients WHERE store = ? AND shard = ?',
  allOperations: 'SELECT id, record FROM operations WHERE store = ? AND shard = ?',
  putClient: 'INSERT INTO clients (store, shard, id, record) VALUES (?, ?, ?, ?) USING TIMESTAMP ?',
  putOperation: 'INSERT INTO operations (store, shard, id, record) VALUES (?, ?, ?, ?) USING TIMESTAMP ?',
  dropClient: 'DELETE FROM clients USING TIMESTAMP ? WHERE store = ? AND shard = ? AND id = ?',
  dropOperation: 'DELETE FROM operations USING TIMESTAMP ? WHERE store = ? AND shard = ? AND id = ?',

  hold: 'INSERT INTO holders (store, name, holder, until) VALUES (?, ?, ?, ?) IF NOT EXISTS',
  holdOn: 'UPDATE holders SET holder = ?, until = ? WHERE store = ? AND name = ? IF holder = ? AND until = ?',
  clocks: 'SELECT name, value FROM clocks WHERE store = ?',
  setClock: 'INSERT INTO clocks (store, name, value) VALUES (?, ?, ?) USING TIMESTAMP ?',
}

export type StatementName = keyof typeof statements | RangeName

export const STATEMENTS: Readonly<Record<StatementName, string>> = { ...rangeStatements(), ...statements }
