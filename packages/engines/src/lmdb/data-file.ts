/**
 * A look at LMDB's file before LMDB is let near it: LMDB trusts every byte, and ends the whole process over some. A file
 * of some size is examined as a whole. In a larger one that would delay the start: there, what leads to the records is examined,
 * and each record when it is read; `freshet check store` examines the rest.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from './environment.js'
import { examineFile } from './integrity/examine-file.js'
import { FileDamage, LmdbFile } from './integrity/lmdb-file.js'
import { storeDamaged } from './lmdb-errors.js'

/** Takes a second or two. */
const EXAMINED_WHOLE_BYTES_MAX = 256 * 1024 * 1024

/**
 * Throws STORE_DAMAGED if the store cannot be opened. What it returns are the keys of damaged objects: everything else can be
 * used, and a read of one of these throws STORE_DAMAGED.
 */
export async function checkDataFile(path: string): Promise<readonly string[]> {
  const bytes = statSync(join(path, DATA_FILE), { throwIfNoEntry: false })?.size ?? 0
  const examination = await examineFile({ path, depth: bytes > EXAMINED_WHOLE_BYTES_MAX ? 'branches' : 'records' })
  const damages = examination?.damages ?? []
  const fatal = damages.find(({ key }) => key === undefined)
  if (fatal !== undefined) {
    throw storeDamaged(path, `${fatal.what}${damages.length > 1 ? `, and ${damages.length - 1} more` : ''}`)
  }
  return damages.flatMap(({ key }) => key ?? [])
}

/** For a file that another process writes to: only that it is LMDB's. Throws STORE_DAMAGED. */
export function checkHeader(path: string): void {
  try {
    new LmdbFile(join(path, DATA_FILE)).close()
  } catch (error) {
    throw error instanceof FileDamage ? storeDamaged(path, `${DATA_FILE}: ${error.message}`) : error
  }
}
