/**
 * Which folder this is, and how far the store in it had come: so that a store that was copied back is known for one.
 *
 *     .place     is written once. The store notes its inode and when that last changed, and the inode of its own file. No copy has the same, not even
 *                one over the same file: the system sets the time of the change.
 *     .reached   the log and a position, written when the store is opened and closed, and every few seconds. It shows that `data.mdb` alone was copied
 *                back over itself. Once the store is closed, also when `data.mdb` last changed: so it shows that both were.
 *
 * A change of owner or mode looks like a copy. That costs sessions a fresh start, and nothing else. What is certainly a copy is remembered
 * (`COPIED_MEMORY`): a file with another time of birth; or one that changed while the store was closed, though `.place` did not.
 * A snapshot of the whole volume that is rolled back leaves no trace here.
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

/** To be compared with what the store has noted. */
export interface FoundFile extends FileIdentity {
  readonly reached: Reached | undefined
}

/** Before the store is opened, which changes the file. */
export async function readFound(path: string): Promise<FoundFile> {
  return { ...identifyFile(join(path, DATA_FILE)), reached: await readReached(path) }
}

/** To be compared with what the store has noted. */
export async function readPlace(path: string): Promise<string> {
  const file = join(path, PLACE_FILE)
  await writeFile(file, 'Freshet knows by this file that its folder was not copied back from a backup.\n', {
    ...OWNER_ONLY,
    flag: 'wx',
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const [place, data] = [statFile(file), statFile(join(path, DATA_FILE))]
  return `${place.ino}/${place.ctimeNs}/${data.ino}`
}

/** Undefined if there is none, or none that can be read. */
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

/** The data file is closed, so that it changes no more. */
export async function writeLastReached(path: string, reached: LogPlace): Promise<void> {
  await writeReached(path, { ...reached, changedNs: `${statFile(join(path, DATA_FILE)).ctimeNs}` })
}
