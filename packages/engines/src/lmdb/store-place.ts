/**
 * Which folder this is, and how far the store in it has come, so that a store that was restored from a copy is detected.
 *
 *     .place     Written once. The store notes its inode and when that last changed, and the inode of its own file. No copy
 *                has the same values, not even one over the same file, because the system sets the time of the change.
 *     .reached   The log and a position, written when the store is opened and closed, and every few seconds. It shows whether
 *                `data.mdb` alone was restored over itself. After the store is closed, it also has the time of the last change of
 *                `data.mdb`, and so shows whether both files were restored.
 *
 * A change of owner or mode looks like a copy. That costs sessions a fresh start, and nothing else. A certain copy is
 * remembered (`COPIED_MEMORY`): a file with another time of birth, or one that changed while the store was closed although
 * `.place` did not. A snapshot of the whole volume that is rolled back leaves no trace here.
 */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogPlace } from '@freshet/core/store'
import { type FileIdentity, identifyFile, statFile } from '../files/file-identity.js'
import { DATA_FILE } from './environment.js'

const PLACE_FILE = '.place'
const REACHED_FILE = '.reached'
const OWNER_ONLY = { mode: 0o600 }

export interface Reached extends LogPlace {
  /** When the data file last changed, in nanoseconds. Undefined: the store was not closed. */
  readonly changedNs?: string | undefined
}

/** To be compared with the store's own notes. */
export interface FoundFile extends FileIdentity {
  readonly reached: Reached | undefined
}

/** Call before opening the store, which changes the file. */
export async function readFound(path: string): Promise<FoundFile> {
  return { ...identifyFile(join(path, DATA_FILE)), reached: await readReached(path) }
}

/** To be compared with the store's own notes. */
export async function readPlace(path: string): Promise<string> {
  const file = join(path, PLACE_FILE)
  await writeFile(file, 'Freshet uses this file to detect that its folder was restored from a backup.\n', {
    ...OWNER_ONLY,
    flag: 'wx',
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const [place, data] = [statFile(file), statFile(join(path, DATA_FILE))]
  return `${place.ino}/${place.ctimeNs}/${data.ino}`
}

/** Undefined if the file does not exist or cannot be read. */
async function readReached(path: string): Promise<Reached | undefined> {
  try {
    const { log, position, changedNs } = JSON.parse(await readFile(join(path, REACHED_FILE), 'utf8')) as Reached
    return typeof log === 'string' && Number.isSafeInteger(position) ? { log, position, changedNs } : undefined
  } catch {
    return undefined
  }
}

export async function writeReached(path: string, { log, position, changedNs }: Reached): Promise<void> {
  const file = join(path, REACHED_FILE)
  await writeFile(`${file}.new`, JSON.stringify({ log, position, changedNs }), OWNER_ONLY)
  await rename(`${file}.new`, file)
}

/** Call when the data file is closed and no longer changes. */
export async function writeLastReached(path: string, reached: LogPlace): Promise<void> {
  await writeReached(path, { ...reached, changedNs: `${statFile(join(path, DATA_FILE)).ctimeNs}` })
}
