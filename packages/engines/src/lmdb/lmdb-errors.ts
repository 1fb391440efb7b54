/** The errors of LMDB, in the terms of the store. */
import { statfs } from 'node:fs/promises'
import { FreshetError } from '@freshet/protocol'

const EIO = 5
const ENOSPC = 28
const EDQUOT = 122
const MDB_MAP_FULL = -30792
const FULL = [ENOSPC, EDQUOT, MDB_MAP_FULL]
const ALMOST_FULL_BYTES = 64 * 1024 * 1024

/** LMDB reports a failed commit in two places; the reason is in the second. */
export async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<unknown> }
  if (commitError === undefined) return error
  return commitError.then(
    () => error,
    reason => reason,
  )
}

/** Whether a commit failed for lack of space. */
export async function isFull(path: string, error: unknown): Promise<boolean> {
  const { code } = error as { code?: unknown }
  // The last write before the disk is full succeeds in part, which LMDB reports as an input/output error.
  if (code === EIO) return (await bytesFree(path)) < ALMOST_FULL_BYTES
  return typeof code === 'number' && FULL.includes(code)
}

async function bytesFree(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return bavail * bsize
}

export function storeFull(path: string, cause: unknown): FreshetError {
  return new FreshetError(
    'STORE_FULL',
    `There is no space left for the store at ${path}. Nothing was written; free some space and try again.`,
    { cause },
  )
}

export function storeDamaged(path: string, what: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'STORE_DAMAGED',
    `The store at ${path} cannot be trusted: ${what}. Check the disk. Then restore a backup, or run freshet check store ` +
      '--salvage to copy all undamaged data into a new store.',
    { cause },
  )
}

/** A record that does not match its checksum. */
export function recordDamaged(path: string, table: string, key: string | number | Buffer): FreshetError {
  const name = Buffer.isBuffer(key) ? key.toString('hex') : String(key)
  return new FreshetError(
    'STORE_DAMAGED',
    `The store at ${path} is damaged: the record of ${JSON.stringify(name)} (table ${table}) does not match its checksum. ` +
      'Everything else can still be read. Check the disk; run freshet check store to find all damage, and freshet restore ' +
      '--damaged to restore the record from a backup.',
    { details: { table, key: name } },
  )
}

export function storeUnusable(path: string, why: string, cause?: unknown): FreshetError {
  return new FreshetError('STORE_UNUSABLE', `The store at ${path} cannot be opened: ${why}.`, { cause })
}

export function storeClosed(path: string): FreshetError {
  return new FreshetError('STORE_CLOSED', `The store at ${path} was closed. Open it again.`)
}
