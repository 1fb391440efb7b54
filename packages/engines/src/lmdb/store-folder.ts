/** Checks, before anything is written, that a folder is suitable for a store. */
import { constants, fsync } from 'node:fs'
import { access, chmod, mkdir, open, readdir, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DATA_FILE, LOCK_TABLE, type MetaTable } from './environment.js'
import { storeDamaged, storeUnusable } from './lmdb-errors.js'
import { bootId } from './processes.js'
import { decodeFormat, FORMAT_VERSION } from './records.js'

/** Files that file systems put into each folder that is a mount point. */
const NOT_FOREIGN = ['lost+found']

const FOLDER_MODE = 0o700
export const FILE_MODE = 0o600

/** Creates the folder if necessary. No other account may read it, whatever the umask. Throws STORE_UNUSABLE. */
export async function prepareFolder(path: string): Promise<void> {
  await usable(path, async () => {
    await makeFolder(path)
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
  })
  await refuseOtherFiles(path)
  await usable(path, async () => {
    await closeToOthers(path, FOLDER_MODE)
    for (const name of [DATA_FILE, LOCK_TABLE]) await createClosed(join(path, name))
  })
}

async function usable(path: string, prepare: () => Promise<void>): Promise<void> {
  try {
    await prepare()
  } catch (error) {
    throw storeUnusable(path, reasonInWords(error as NodeJS.ErrnoException), error)
  }
}

/** LMDB would create the file readable by all. */
async function createClosed(path: string): Promise<void> {
  const file = await open(path, 'a', FILE_MODE)
  await file.close()
  await closeToOthers(path, FILE_MODE)
}

/** A file of another account keeps its mode. */
async function closeToOthers(path: string, mode: number): Promise<void> {
  try {
    if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') throw error
  }
}

async function refuseOtherFiles(path: string): Promise<void> {
  const foreign = (await readdir(path)).filter(name => !name.startsWith('.') && !NOT_FOREIGN.includes(name))
  if (foreign.length === 0 || foreign.includes(DATA_FILE)) return
  throw storeUnusable(path, `it is a folder that holds other files (${foreign[0]}) and no store; choose an empty one`)
}

/**
 * Closed to other accounts. Unlike `mkdir` with `recursive`, it ends where an existing folder accepts no subfolders, such as
 * /proc.
 */
export async function makeFolder(folder: string): Promise<void> {
  const path = resolve(folder)
  try {
    await mkdir(path, FOLDER_MODE)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return
    const above = dirname(path)
    const isAbove = await access(above).then(
      () => true,
      () => false,
    )
    if (code !== 'ENOENT' || isAbove || above === path) throw error
    await makeFolder(above)
    await makeFolder(path)
  }
}

/** For processes that only read. Throws STORE_UNUSABLE. */
export async function requireStore(path: string): Promise<void> {
  try {
    await access(join(path, DATA_FILE), constants.R_OK)
  } catch (error) {
    throw storeUnusable(path, 'there is no store in it that this user may read', error)
  }
}

/** Makes the folder's list of files, and its own entry in the parent folder, as durable as their contents. */
export async function flushFolder(path: string): Promise<void> {
  for (const folder of [path, dirname(resolve(path))]) {
    const handle = await open(folder)
    // Under Yarn's Plug'n'Play, file handles have no `sync`.
    await promisify(fsync)(handle.fd).finally(() => handle.close())
  }
}

function reasonInWords({ code, message }: NodeJS.ErrnoException): string {
  if (code === 'EEXIST' || code === 'ENOTDIR') return 'it is a file, or lies below one; choose a folder'
  if (code === 'EACCES' || code === 'EPERM') return 'this user may not write there; change its owner or its mode'
  if (code === 'EROFS') return 'the file system is read-only'
  if (code === 'ENOENT') return 'no folder can be made there; choose another place'
  return message
}

/** Throws unless these tables are of a format that this version reads. */
export function checkFormat(path: string, meta: MetaTable | undefined): void {
  const record = meta?.get('format')
  // A new store, or one whose creation was interrupted before anything was written.
  if (record === undefined) return
  const version = decodeFormat(record)
  if (version > FORMAT_VERSION) {
    throw storeUnusable(
      path,
      `it has format ${version}, and this Freshet reads up to ${FORMAT_VERSION}; update Freshet`,
    )
  }
  if (version < 1) throw storeDamaged(path, 'its format is not a number')
  // Without flushes, the system may have written pages in any order before the machine went down.
  const boot = meta?.get('relaxed')?.toString() ?? bootId()
  if (boot !== bootId()) throw storeDamaged(path, 'the machine went down while it was open with durability "relaxed"')
}

/** Turns an error of opening LMDB into one of the store. */
export function openingFailed(path: string, error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message: string }
  return typeof code === 'number' ? storeUnusable(path, message, error) : error
}
