/** What the engine throws, in the words of the store. */
import { statfs } from 'node:fs/promises'
import { FreshetError } from '@freshet/protocol'

const EIO = 5
const ENOSPC = 28
const EDQUOT = 122
const MDB_MAP_FULL = -30792
const FULL = [ENOSPC, EDQUOT, MDB_MAP_FULL]
const ALMOST_FULL_BYTES = 64 * 1024 * 1024

/** The engine reports a failed commit at two places; the reason is at the second. */
export async function reasonOf(error: unknown): Promise<unknown> {
  const { commitError } = error as { commitError?: Promise<unknown> }
  if (commitError === undefined) return error
  return commitError.then(
    () => error,
    reason => reason,
  )
}

/** Whether a commit failed for want of space. */
export async function isFull(path: string, error: unknown): Promise<boolean> {
  const { code } = error as { code?: unknown }
  // The last write before the disk is full succeeds in part, which the engine reports as an input/output error.
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
    `The store at ${path} cannot be trusted: ${what}. Stop the server, check the disk, and restore a copy if it persists.`,
    { cause },
  )
}

export function storeUnusable(path: string, why: string, cause?: unknown): FreshetError {
  return new FreshetError('STORE_UNUSABLE', `The store at ${path} cannot be opened: ${why}.`, { cause })
}

export function storeClosed(path: string): FreshetError {
  return new FreshetError('STORE_CLOSED', `The store at ${path} was closed. Open it again.`)
}
