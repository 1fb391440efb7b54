/** The errors of PostgreSQL and its driver, in the terms of the store. */
import { FreshetError } from '@freshet/protocol'
import { EngineBusy, EngineLost, storeFull, storeUnusable } from '@freshet/store/engine'

/** https://www.postgresql.org/docs/15/errcodes-appendix.html */
const BUSY = ['40001', '40P01', '55P03', '57014']
/** The server is starting, stopping, or has ended this connection; or has no free connection. */
const LOST = ['57P01', '57P02', '57P03', '57P05', '25P03', '53300']
const FULL = ['53100', '58030']
const UNUSABLE: Readonly<Record<string, string>> = {
  '28P01': 'it refuses the password. Correct it in the URL, or in the environment',
  '28000': 'it refuses this user. Check the user in the URL, and pg_hba.conf',
  '3D000': 'there is no such database. Create it, or correct its name in the URL',
  '42501':
    'this user may not do what Freshet needs. Make it the owner of the schema, or let it create schemas in the database',
  '25006': 'it is read-only, as a standby is. Give the address of the primary',
  '42P01': 'its tables no longer exist: they were dropped. Open the store again',
  '3F000': 'its schema no longer exists: it was dropped. Open the store again',
}

/** `isUnknown`: if the connection is lost, the request may have been carried out. */
export function toEngineError(place: string, error: unknown, isUnknown: boolean): Error {
  if (error instanceof FreshetError || error instanceof EngineLost || error instanceof EngineBusy) return error
  const state = sqlState(error)
  if (state === undefined || state.startsWith('08') || LOST.includes(state)) return new EngineLost(error, isUnknown)
  if (BUSY.includes(state)) return new EngineBusy(error)
  if (FULL.includes(state)) return storeFull(place, error)
  const why = UNUSABLE[state]
  return why === undefined ? (error as Error) : storeUnusable(place, why, error)
}

/** Undefined: the error is not from the server, so the connection is lost. */
function sqlState(error: unknown): string | undefined {
  const { code, severity } = error as { readonly code?: unknown; readonly severity?: unknown }
  return typeof code === 'string' && severity !== undefined ? code : undefined
}
