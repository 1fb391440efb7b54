/**
 * The check of each new connection, before any other request on it: which MariaDB is this, and may it have lost something?
 * `attachment.ts` of @freshet/store describes what follows from the answer.
 *
 * - Another database: another `server_id`, which a server never shares with one that it replicates. Or another creation time
 *   of the head's table, which is that of its file: a restore by `mariadb-dump` or `mariabackup` changes it.
 * - Restarted: `runs` is a table in memory, so it is empty after a restart; on a replica it names another server. A server
 *   that finds it empty draws an id for this run; `engine`, which is on disk, has the id of the run in which the head was
 *   last used.
 */
import { randomUUID } from 'node:crypto'
import type { StoreSupports } from '@freshet/core/store'
import { type Attached, type Found, judge, type Known, positionAfter, type Verdict } from '@freshet/store/engine'
import type { Connection } from 'mariadb'
import { checkPrimary } from './mariadb-connection.js'
import { durabilityOf, SETTINGS, settingsIn } from './settings.js'

export interface AttachOptions {
  /** The prefix of the table names. */
  readonly prefix: string
  readonly known: Known
  /** Positions continue from the time of day in any case. */
  readonly isSkipping: boolean
}

interface FoundMariadb extends Found {
  /** Undefined: no server has drawn one yet. */
  readonly run: string | undefined
  /** Where the head was last used, and as it is now. */
  readonly engine: string
  readonly engineNow: string
}

/** Identifies the server rather than its address: a different server at the same address counts as another. */
const SERVER = `CONCAT(@@hostname, ':', @@port, ':', @@server_id, ':', @@datadir)`

function madeAt(prefix: string): string {
  return `(SELECT UNIX_TIMESTAMP(create_time) FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name = '${prefix}head')`
}

/** Throws `EngineLost` if it is read-only. */
export async function attach(connection: Connection, options: AttachOptions): Promise<Attached> {
  await checkPrimary(connection)
  const found = await look(connection, options)
  if (isSettled(found, options)) return attachedTo(found)
  try {
    await connection.query(`START TRANSACTION READ WRITE; SELECT position FROM ${options.prefix}head FOR UPDATE`)
    const attached = await attachLocked(connection, options)
    await connection.query('COMMIT')
    return attached
  } catch (error) {
    connection.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function attachLocked(connection: Connection, options: AttachOptions): Promise<Attached> {
  const { prefix, known, isSkipping } = options
  const seen = await look(connection, options)
  const found = { ...seen, run: seen.run ?? randomUUID() }
  if (seen.run === undefined) {
    await connection.query(`REPLACE INTO ${prefix}runs VALUES (1, ${SERVER}, ?)`, [found.run])
  }
  const verdict = judge(found, known)
  const isMoved = verdict !== 'go-on' || isSkipping
  const { log, position } = isMoved ? await goOnElsewhere(connection, found, verdict, options) : found
  await connection.query(`REPLACE INTO ${prefix}engine VALUES (1, ?, ?)`, [found.engineNow, found.run])
  return attachedTo({ ...found, log, position })
}

async function goOnElsewhere(
  connection: Connection,
  found: Found,
  verdict: Verdict,
  { prefix, known }: AttachOptions,
): Promise<Known> {
  const isAnother = verdict === 'start-over'
  const position = positionAfter(verdict, found, known)
  const log = isAnother ? randomUUID() : found.log
  const trimmedTo = isAnother ? position : found.trimmedTo
  // Positions that were skipped before the log begins are no longer needed.
  await connection.query(`DELETE FROM ${prefix}skipped WHERE begun < ?`, [trimmedTo])
  await connection.query(`REPLACE INTO ${prefix}skipped VALUES (?, ?)`, [found.position, position])
  const set = `UPDATE ${prefix}head SET log = ?, position = ?, trimmed_to = ?`
  await connection.query(set, [log, position, trimmedTo])
  return { log, position }
}

async function look(connection: Connection, { prefix, known }: AttachOptions): Promise<FoundMariadb> {
  const [row] = await connection.query(
    `SELECT h.log, h.position, h.trimmed_to, CONCAT(@@server_id, '/', ${madeAt(prefix)}), e.engine, e.run, r.id,
      (SELECT begun > ? FROM ${prefix}skipped WHERE ended < ? ORDER BY ended DESC LIMIT 1), ${SETTINGS}
    FROM ${prefix}head h LEFT JOIN ${prefix}engine e ON TRUE LEFT JOIN ${prefix}runs r ON r.server = ${SERVER}`,
    [known.position, known.position],
  )
  const [log, position, trimmedTo, server, engine, lastRun, run, isSkipped, ...settings] = row
  const [serverBefore, durabilityBefore] = String(engine ?? '').split(' ') as [string, string | undefined]
  const durability: StoreSupports['durability'] = durabilityOf(settingsIn(settings))
  return {
    log: String(log),
    position,
    trimmedTo,
    isSkipped: isSkipped === 1,
    isSameEngine: serverBefore === String(server),
    isSameRun: run !== null && String(run) === String(lastRun),
    // Changing the setting after a crash does not undo the loss.
    mayHaveLost: durability === 'relaxed' || durabilityBefore === 'relaxed',
    run: run === null ? undefined : String(run),
    engine: String(engine ?? ''),
    engineNow: `${server} ${durability}`,
  }
}

/** Whether nothing need be written. */
function isSettled(found: FoundMariadb, { known, isSkipping }: AttachOptions): boolean {
  return !isSkipping && judge(found, known) === 'go-on' && found.engine === found.engineNow
}

function attachedTo({ log, position, run }: FoundMariadb): Attached {
  return { log, position, run: run! }
}
