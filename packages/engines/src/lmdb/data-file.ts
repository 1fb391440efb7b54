/**
 * Checks LMDB's file before LMDB opens it: LMDB trusts every byte, and some damage makes it end the whole process. A file of
 * moderate size is examined as a whole. For a larger file that would delay the start: there, only the pages that lead to the
 * records are examined, and each record when it is read; `freshet check store` examines the rest.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DATA_FILE } from './environment.js'
import { examineFile } from './integrity/examine-file.js'
import { FileDamage, LmdbFile } from './integrity/lmdb-file.js'
import { storeDamaged } from './lmdb-errors.js'

/** Examining this much takes a second or two. */
const EXAMINED_WHOLE_BYTES_MAX = 256 * 1024 * 1024

/**
 * Throws STORE_DAMAGED if the store cannot be opened. Returns the keys of damaged objects: everything else can be used, and
 * reading one of these throws STORE_DAMAGED.
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

/** For a file that another process writes to: checks only that it is a file of LMDB. Throws STORE_DAMAGED. */
export function checkHeader(path: string): void {
  try {
    new LmdbFile(join(path, DATA_FILE)).close()
  } catch (error) {
    throw error instanceof FileDamage ? storeDamaged(path, `${DATA_FILE}: ${error.message}`) : error
  }
}
