/**
 * The check of each new connection, before any other request on it: which PostgreSQL is this, and may it have lost something?
 * `attachment.ts` of @freshet/store describes what follows from the answer.
 *
 * - Another database: another system identifier, or another timeline, which a promoted standby begins, and so does a cluster
 *   that was restored from its archive. Or another database, table or file: tables that `pg_restore` makes have other
 *   numbers, and a table that was emptied by TRUNCATE has another file. VACUUM FULL, CLUSTER and pg_upgrade look the same,
 *   and cost sessions a fresh start.
 * - Restarted: `started` has another time, or none. The table is UNLOGGED, so it is empty after a crash, on a promoted
 *   standby, and in a base backup; a clean restart, which loses nothing, keeps it.
 */
import { randomUUID } from 'node:crypto'
import type { StoreSupports } from '@freshet/core/store'
import { type Attached, type Found, judge, type Known, positionAfter, type Verdict } from '@freshet/store/engine'
import type pg from 'pg'
import { BEGIN } from './locked-state.js'
import { checkPrimary } from './postgres-hosts.js'

export interface AttachOptions {
  readonly known: Known
  /** Positions continue from the time of day in any case. */
  readonly isSkipping: boolean
  /** The channel of notifications. */
  readonly channel: string
}

interface FoundPostgres extends Found {
  readonly run: string
  /** As stored in the head, and as it is now. */
  readonly engine: string
  readonly engineNow: string
  readonly startedNow: string
}

/** `system/timeline/database/table/file`; in the head, the durability follows. */
const ENGINE = `
  (SELECT system_identifier FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || '/' ||
  (SELECT oid FROM pg_database WHERE datname = current_database()) || '/' ||
  'head'::regclass::oid || '/' || pg_relation_filenode('head'::regclass)`
const FOUND = `
  SELECT log, position, trimmed_to, engine, ${ENGINE} AS "engineNow", pg_postmaster_start_time()::text AS "startedNow",
    (SELECT at FROM started) AS "startedAt",
    (SELECT begun > $1 FROM skipped WHERE ended < $1 ORDER BY ended DESC LIMIT 1) AS "isSkipped",
    current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commits,
    current_setting('full_page_writes') AS pages
  FROM head`

/** Throws `EngineLost` if it is a standby. */
export async function attach(client: pg.Client, options: AttachOptions): Promise<Attached> {
  await checkPrimary(client)
  const found = await look(client, options.known)
  if (isSettled(found, options)) return attachedTo(found)
  await client.query(BEGIN)
  try {
    await client.query('SELECT FROM head FOR UPDATE')
    const attached = await attachLocked(client, options)
    await client.query('COMMIT')
    return attached
  } catch (error) {
    client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

/** In a transaction that has locked the head. */
export async function attachLocked(client: pg.Client, options: AttachOptions): Promise<Attached> {
  const { known, isSkipping } = options
  const found = await look(client, known)
  if (isSettled(found, options)) return attachedTo(found)
  await client.query('INSERT INTO started VALUES (true, $1) ON CONFLICT (single) DO UPDATE SET at = EXCLUDED.at', [
    found.startedNow,
  ])
  const verdict = judge(found, known)
  if (verdict !== 'go-on' || isSkipping) return goOnElsewhere(client, found, verdict, options)
  await client.query('UPDATE head SET engine = $1', [found.engineNow])
  return attachedTo(found)
}

async function goOnElsewhere(
  client: pg.Client,
  found: FoundPostgres,
  verdict: Verdict,
  { known, channel }: AttachOptions,
): Promise<Attached> {
  const isAnother = verdict === 'start-over'
  const position = positionAfter(verdict, found, known)
  const log = isAnother ? randomUUID() : found.log
  const trimmedTo = isAnother ? position : found.trimmedTo
  // Positions that were skipped before the log begins are no longer needed.
  await client.query('DELETE FROM skipped WHERE begun < $1', [trimmedTo])
  await client.query('INSERT INTO skipped VALUES ($1, $2) ON CONFLICT (ended) DO UPDATE SET begun = EXCLUDED.begun', [
    found.position,
    position,
  ])
  await client.query('UPDATE head SET log = $1, position = $2, trimmed_to = $3, engine = $4', [
    ...[log, position, trimmedTo, found.engineNow],
  ])
  if (isAnother) await client.query('SELECT pg_notify($1, $2)', [channel, `${position}`])
  return attachedTo({ ...found, log, position })
}

async function look(client: pg.Client, known: Known): Promise<FoundPostgres> {
  const { rows } = await client.query(FOUND, [known.position])
  const { log, position, trimmed_to, engine, engineNow, startedAt, startedNow, isSkipped, ...settings } = rows[0]
  const [engineBefore, durabilityBefore] = engine.split(' ') as [string, string | undefined]
  const durability = durabilityOf(settings)
  return {
    log,
    position: Number(position),
    trimmedTo: Number(trimmed_to),
    isSkipped: isSkipped === true,
    isSameEngine: engineBefore === engineNow,
    isSameRun: startedAt === startedNow,
    // Changing the setting after a crash does not undo the loss. A clean restart has flushed everything.
    mayHaveLost: startedAt === null && (durability === 'relaxed' || durabilityBefore === 'relaxed'),
    run: `${engineNow} ${startedNow}`,
    engine,
    engineNow: `${engineNow} ${durability}`,
    startedNow,
  }
}

export interface Settings {
  readonly fsync: string
  readonly commits: string
  readonly pages: string
}

export function durabilityOf({ fsync, commits, pages }: Settings): StoreSupports['durability'] {
  return [fsync, commits, pages].includes('off') ? 'relaxed' : 'disk'
}

/** Whether nothing need be written. */
function isSettled(found: FoundPostgres, { known, isSkipping }: AttachOptions): boolean {
  return !isSkipping && judge(found, known) === 'go-on' && found.engine === found.engineNow
}

function attachedTo({ log, position, run }: FoundPostgres): Attached {
  return { log, position, run }
}
