/** The errors of SQLite, in the terms of the store. */
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import { EngineBusy, EngineLost, storeFull, storeUnusable } from '@freshet/store/engine'

/** https://www.sqlite.org/rescode.html: the last byte is the primary code. */
const BUSY = [5, 6]
const IO_ERROR = 10
const CORRUPT = 11
const FULL = 13
const PROTOCOL = 15
const UNUSABLE: Readonly<Record<number, string>> = {
  3: 'this user may not write to it, or to its folder. Change their owner or their mode',
  8: 'it is read-only. Change its mode, or that of its folder or file system',
  14: 'it cannot be opened. Check that its folder exists, and that this user may write to it',
  26: 'it is not a SQLite database, or its first page is damaged. Choose another file, or restore a copy',
}
const ALMOST_FULL_BYTES = 64 * 1024 * 1024

/** The part of the binding's error that can be sent from one thread to another. */
export interface Failure {
  readonly errcode: number | undefined
  readonly message: string
}

/** Where the binding omits the code, as `all` does, SQLite's message identifies the error. */
export function toFailure(error: unknown): Failure {
  const { errcode, message = String(error) } = error as { readonly errcode?: number; readonly message?: string }
  const isMalformed = message.startsWith('malformed database schema')
  return { errcode: errcode ?? (isMalformed ? CORRUPT : CODE_OF_MESSAGE[message]), message }
}

/** `sqlite3ErrStr` in main.c. */
const CODE_OF_MESSAGE: Readonly<Record<string, number>> = {
  'access permission denied': 3,
  'database is locked': 5,
  'database table is locked': 6,
  'attempt to write a readonly database': 8,
  'disk I/O error': IO_ERROR,
  'database disk image is malformed': CORRUPT,
  'database or disk is full': FULL,
  'unable to open database file': 14,
  'locking protocol': PROTOCOL,
  'file is not a database': 26,
}

/** `isUnknown`: after an input or output error, the request may have been carried out. */
export function toEngineError(place: string, error: unknown, isUnknown: boolean): Error {
  if (error instanceof FreshetError || error instanceof EngineLost || error instanceof EngineBusy) return error
  const { errcode, message } = toFailure(error)
  const cause = error instanceof Error ? error : Object.assign(new Error(message), { errcode })
  if (errcode === undefined) return cause
  const code = errcode & 0xff
  if (BUSY.includes(code) || code === PROTOCOL) return new EngineBusy(cause)
  // The last write before the disk is full may succeed in part, which is reported as an input or output error.
  if (code === FULL || (code === IO_ERROR && isAlmostFull(place))) return storeFull(place, cause)
  if (code === IO_ERROR) return new EngineLost(cause, isUnknown)
  if (code === CORRUPT) return fileDamaged(place, message, cause)
  const why = UNUSABLE[code]
  return why === undefined ? cause : storeUnusable(place, why, cause)
}

export function fileDamaged(place: string, what: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'STORE_DAMAGED',
    `The store at ${place} is damaged: ${what}. Check the disk, and restore a backup.`,
    { cause },
  )
}

function isAlmostFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < ALMOST_FULL_BYTES
  } catch {
    return false
  }
}
