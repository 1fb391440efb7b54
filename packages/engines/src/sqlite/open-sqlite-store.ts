/**
 * A store in a SQLite file, for any number of processes of one machine at once. The first process that opens it creates it.
 * Beside it are SQLite's write-ahead log and its index (`shop.db-wal`, `shop.db-shm`), and `shop.db-place` (`place-file.ts`).
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
  /** The file, such as `./shop.db`. It is created if it does not exist; its folder is not. */
  readonly path: string
  /** How many entries a query may examine for one page; 10,000 by default. */
  readonly scanMax?: number
  /** How long operations are remembered, and accepted after they were made; a day by default. */
  readonly retentionMs?: number
  /** How long a request waits for another process that has locked the file; 5,000 by default. */
  readonly waitMsMax?: number
  /** What an earlier process knew of the log: if that is lost, the log becomes another one. */
  readonly recalled?: LogPlace | undefined
}

const STATES = 4
const WAIT_MS_MAX = 5_000
const LOCK_MS = 500
const PLACE_MS = 5_000

/**
 * Throws STORE_UNUSABLE if the file cannot be opened, or belongs to another program or a newer Freshet; STORE_DAMAGED if it
 * is damaged; STORE_UNAVAILABLE if another process keeps it locked.
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

/** Creates the file if it does not exist, checks whether it may be used, and finds out which log it has. */
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

/** SQLite would make the file, and the others beside it, readable by all. */
async function createClosed(path: string): Promise<void> {
  try {
    // Only if it does not exist: closing a file drops all locks of the process on it.
    await (await open(path, 'wx', 0o600)).close()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST') throw storeUnusable(path, REASONS[code ?? ''] ?? message, error)
    if (!(await stat(path)).isFile()) throw storeUnusable(path, 'it is not a file. Choose a file', error)
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist. Create it, or choose another place',
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
    if (synchronous !== 2) throw storeUnusable(path, `SQLite does not flush its commits (synchronous = ${synchronous})`)
    connection.rows('beginWrite')
    if (isEmpty(connection)) create(connection)
    else checkOurs(connection, path)
    const attached = attach(connection, known, { ...found, noted: readPlace(path) })
    writePlace(path, { log: attached.log, position: attached.position })
    // This also flushes what a killed process had written without flushing, which other processes can see from now on.
    connection.rows('commit')
    return attached
  } catch (error) {
    throw toEngineError(path, error, false)
  } finally {
    connection?.rollBack()
    connection?.close()
  }
}

/** Call before anything is written. */
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
  // The log begins when the file is first attached.
  connection.run(`INSERT INTO head VALUES (1, '', 0, 0, 0, 0, '', '${numbers}')`)
}

/** Without this note a restored copy may go unnoticed, which is no reason to fail, for example on a full disk. */
function notePlace(path: string, { log, position }: Known, write = writePlace): void {
  try {
    write(path, { log, position })
  } catch {
    // The next attempt may succeed.
  }
}

function inodeIn(file: string): string {
  return file.split('/')[0]!
}
