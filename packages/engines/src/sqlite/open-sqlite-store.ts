/**
 * A store in a SQLite file, for any number of processes of one machine at once. Whoever opens it first makes it. Beside it are SQLite's
 * write-ahead log and its index (`shop.db-wal`, `shop.db-shm`), and `shop.db-place` (`place-file.ts`).
 */
import { open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { RETENTION_MS_DEFAULT } from '@freshet/core/counters'
import { SCAN_MAX_DEFAULT } from '@freshet/core/queries'
import type { LogPlace, Store, StoreSupports } from '@freshet/core/store'
import { EngineStore } from '@freshet/store'
import { DatabaseEngine } from '@freshet/store/database'
import {
  type Attached,
  Attachment,
  EngineLost,
  type Known,
  knownFrom,
  retrying,
  storeUnavailable,
  storeUnusable,
} from '@freshet/store/engine'
import { encodeNumbers } from '@freshet/store/indexes'
import { identifyFile } from '../files/file-identity.js'
import { attach, type FoundFile } from './attach.js'
import { type Binding, Connection, loadBinding } from './connection.js'
import { readPlace, writeLastPlace, writePlace } from './place-file.js'
import { SqliteDatabase } from './sqlite-database.js'
import { toEngineError } from './sqlite-errors.js'
import { APPLICATION_ID, FORMAT_VERSION, TABLES } from './statements.js'
import { Writer } from './writer.js'

export interface SqliteStoreOptions {
  /** The file, `./shop.db`. It is made if it is not there; its folder is not. */
  readonly path: string
  /** So many entries a query may look at for one page; 10,000 unless given. */
  readonly scanMax?: number
  /** So long operations are remembered, and taken after they were made; a day unless given. */
  readonly retentionMs?: number
  /** So long what is asked of the store waits for another process that has the file locked; 5,000 unless given. */
  readonly waitMsMax?: number
  /** What an earlier process knew of the log: if that is not there any more, the log is another one. */
  readonly recalled?: LogPlace | undefined
}

const STATES = 4
const WAIT_MS_MAX = 5_000
const LOCK_MS = 500
const PLACE_MS = 5_000

/**
 * Throws STORE_UNUSABLE if the file cannot be opened, is of another program or of a newer Freshet; STORE_DAMAGED if it is damaged;
 * STORE_UNAVAILABLE if another process keeps it locked.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { scanMax = SCAN_MAX_DEFAULT, retentionMs = RETENTION_MS_DEFAULT, waitMsMax = WAIT_MS_MAX } = options
  const path = resolve(options.path)
  const binding = await loadBinding()
  if (binding === undefined) throw storeUnusable(path, NO_BINDING)
  const { attached, file } = await prepare(binding, path, waitMsMax, knownFrom(options.recalled))
  const attachment = new Attachment(attached, () => database.condemn(storeUnusable(path, REPLACED)))
  const noting = setInterval(() => notePlace(path, attachment.known), PLACE_MS).unref()
  const connect = () => new Connection(binding, path, true)
  const database: SqliteDatabase = new SqliteDatabase({
    place: path,
    reads: connect(),
    states: Array.from({ length: STATES }, connect),
    writer: new Writer(path, { path, inode: inodeIn(file), lockMs: LOCK_MS }),
    waitMsMax,
    onClosed: () => {
      clearInterval(noting)
      notePlace(path, attachment.known, writeLastPlace)
    },
  })
  const supports: StoreSupports = { durability: 'disk', retentionMs }
  const onWarning = () => {}
  try {
    const engine = await DatabaseEngine.open({ database, supports, attachment, waitMsMax, standbys: [], onWarning })
    database.follow(
      () => !engine.listeners.isEmpty,
      position => engine.hear(position),
    )
    return new EngineStore({ engine, scanMax })
  } catch (error) {
    await database.close()
    throw error
  }
}

const NO_BINDING =
  'SQLite is not installed for this platform (npm package @photostructure/sqlite). Install again without --omit=optional, or choose another store'
const REPLACED =
  'its contents were replaced by older ones while it was open. Stop all servers that have it open, and start them again'

interface Prepared {
  readonly attached: Attached
  readonly file: string
}

/** Makes the file if it is not there, looks whether it may be used, and which log it has. */
async function prepare(binding: Binding, path: string, waitMsMax: number, known: Known): Promise<Prepared> {
  try {
    await createClosed(path)
    const found = identifyFile(path)
    const attached = await retrying({ place: path, waitMsMax }, async () => openFirst(binding, path, known, found))
    return { attached, file: found.file }
  } catch (error) {
    const reason = toEngineError(path, error, false)
    throw reason instanceof EngineLost ? storeUnavailable(path, reason, 'not-done') : reason
  }
}

/** SQLite would make it readable by all, and its other files like it. */
async function createClosed(path: string): Promise<void> {
  try {
    // Not if it is there: to close a file drops all locks of the process on it.
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw storeUnusable(path, REASONS[code ?? ''] ?? message, error)
    if (!(await stat(path)).isFile()) throw storeUnusable(path, 'it is not a file. Choose the name of one', error)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder is not there. Create it, or choose another place',
  ENOTDIR: 'it lies below a file. Choose another place',
  EACCES: 'this user may not write there. Change the owner or the mode of its folder',
  EPERM: 'this user may not write there. Change the owner or the mode of its folder',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no space left on its disk',
}

function openFirst(binding: Binding, path: string, known: Known, found: Omit<FoundFile, 'noted'>): Attached {
  let connection: Connection | undefined
  try {
    connection = new Connection(binding, path, true)
    checkOurs(connection, path)
    const mode = connection.ask('PRAGMA journal_mode = WAL')
    if (mode !== 'wal') throw storeUnusable(path, `it cannot have a write-ahead log (${mode}). Choose a local disk`)
    const synchronous = connection.ask('PRAGMA synchronous')
    if (synchronous !== 2) throw storeUnusable(path, `SQLite does not flush what it commits (${synchronous})`)
    connection.rows('beginWrite')
    if (isEmpty(connection)) create(connection)
    else checkOurs(connection, path)
    const attached = attach(connection, known, { ...found, noted: readPlace(path) })
    writePlace(path, { log: attached.log, position: attached.position })
    // Also flushes what a process that was killed had written and not flushed: from now on it is seen.
    connection.rows('commit')
    return attached
  } catch (error) {
    throw toEngineError(path, error, false)
  } finally {
    connection?.rollBack()
    connection?.close()
  }
}

/** Before anything is written. */
function checkOurs(connection: Connection, path: string): void {
  if (isEmpty(connection)) return
  if (connection.ask('PRAGMA application_id') !== APPLICATION_ID) {
    throw storeUnusable(path, 'it is the database of another program. Choose another file')
  }
  const format = connection.ask('PRAGMA user_version') as number
  if (format > FORMAT_VERSION) {
    throw storeUnusable(path, `it has format ${format}, and this Freshet reads up to ${FORMAT_VERSION}. Update Freshet`)
  }
}

function isEmpty(connection: Connection): boolean {
  return connection.ask('SELECT count(*) FROM sqlite_schema') === 0
}

function create(connection: Connection): void {
  connection.run(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${FORMAT_VERSION}; ${TABLES}`)
  const numbers = Buffer.from(encodeNumbers({ last: 0, dropped: [] })).toString()
  // Its log begins when it is attached to for the first time.
  connection.run(`INSERT INTO head VALUES (1, '', 0, 0, 0, 0, '', '${numbers}')`)
}

/** Without it a copy that is put back may go unnoticed; that is no reason to fail, on a full disk say. */
function notePlace(path: string, { log, position }: Known, write = writePlace): void {
  try {
    write(path, { log, position })
  } catch {
    // The next one may succeed.
  }
}

function inodeIn(file: string): string {
  return file.split('/')[0]!
}
