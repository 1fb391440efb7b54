/** The errors of MariaDB and its driver, in the terms of the store. */
import { FreshetError } from '@freshet/protocol'
import { EngineBusy, EngineLost, storeFull, storeUnusable } from '@freshet/store/engine'

/** https://mariadb.com/kb/en/mariadb-error-code-reference/ */
const BUSY = [1020, 1205, 1213, 1317, 1969]
/** The server is stopping, or has ended this connection; or has no free connection. */
const LOST = [1040, 1053, 1152, 1158, 1159, 1160, 1161, 1203, 1927]
const FULL = [1021, 1026, 1114]
const TOO_LARGE = [1153, 1301]
const READ_ONLY = [1290, 1792]
const UNUSABLE: Readonly<Record<number, string>> = {
  1044: 'this user may not use this database. Grant it, or correct the name in the URL',
  1045: 'it refuses this user and password. Correct them in the URL',
  1049: 'there is no such database. Create it, or correct its name in the URL',
  1130: 'it refuses connections from this machine. Check the hosts from which its users may connect',
  1142: 'this user may not do what Freshet needs. Grant it all privileges on the database',
  1146: 'its tables no longer exist: they were dropped. Open the store again',
  1193: 'it is too old. Use MariaDB 10.11 or newer',
  1227: 'this user may not do what Freshet needs. Grant it all privileges on the database',
  1290: 'it is read-only, as a replica is. Give the address of the primary',
  1665: 'its binary log is kept as statements. Set binlog_format to MIXED or ROW',
  1698: 'it refuses this user and password. Correct them in the URL',
  1792: 'it is read-only, as a replica is. Give the address of the primary',
}
/** Those of the driver itself. */
const DRIVER = { from: 45_000, to: 46_000, tooLarge: 45_046 }

/** `isUnknown`: if the connection is lost, the request may have been carried out. */
export function toEngineError(place: string, error: unknown, isUnknown: boolean): Error {
  if (error instanceof FreshetError || error instanceof EngineLost || error instanceof EngineBusy) return error
  const { errno, fatal } = error as { readonly errno?: number; readonly fatal?: boolean }
  const reason = plain(error)
  if (errno === undefined || errno < 0) return new EngineLost(reason, isUnknown)
  if (TOO_LARGE.includes(errno) || errno === DRIVER.tooLarge) return tooLarge(place, reason)
  if (BUSY.includes(errno)) return new EngineBusy(reason)
  if (FULL.includes(errno)) return storeFull(place, reason)
  const why = UNUSABLE[errno]
  if (why !== undefined) return storeUnusable(place, why, reason)
  const isOfDriver = errno > DRIVER.from && errno < DRIVER.to
  return fatal || isOfDriver || LOST.includes(errno) ? new EngineLost(reason, isUnknown) : reason
}

/** It was refused because this is a replica, or has become one. */
export function isReadOnly(error: unknown): boolean {
  return READ_ONLY.includes((error as { readonly errno?: number }).errno ?? 0)
}

export function tooLarge(place: string, cause?: unknown): FreshetError {
  const what = `This is more than the database at ${place} accepts at once.`
  return new FreshetError('LIMIT_EXCEEDED', `${what} Write less, or raise its max_allowed_packet.`, { cause })
}

interface Facts {
  readonly errno?: number
  readonly sqlState?: string
  readonly sqlMessage?: string | null
  readonly message: string
}

/** Without the statement, which contains the data to be written. */
function plain(error: unknown): Error {
  const { errno, sqlState, sqlMessage, message } = error as Facts
  return Object.assign(new Error(sqlMessage ?? message), { errno, sqlState })
}
