/**
 * Which folder this is, and how far the store in it had come: so that a store that was copied back is known for one.
 *
 *     .place     is written once. The store notes its inode and when that last changed, and the inode of its own file. No copy has the same, not even
 *                one over the same file: the system sets the time of the change.
 *     .reached   the log and a position, written when the store is opened and closed, and every few seconds. It shows that `data.mdb` alone was copied
 *                back over itself.
 *
 * A change of owner or mode looks like a copy. That costs sessions a fresh start, and nothing else.
 */
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { LogPlace } from '@freshet/core/store'
import { DATA_FILE } from './engine.js'

const PLACE_FILE = '.place'
const REACHED_FILE = '.reached'
const OWNER_ONLY = { mode: 0o600 }

/** To be compared with what the store has noted. */
export async function readPlace(path: string): Promise<string> {
  const file = join(path, PLACE_FILE)
  await writeFile(file, 'Freshet knows by this file that its folder was not copied back from a backup.\n', {
    ...OWNER_ONLY,
    flag: 'wx',
  }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  const [place, data] = await Promise.all([file, join(path, DATA_FILE)].map(each => stat(each, { bigint: true })))
  return `${place!.ino}/${place!.ctimeNs}/${data!.ino}`
}

/** Undefined if there is none, or none that can be read. */
export async function readReached(path: string): Promise<LogPlace | undefined> {
  try {
    const { log, position } = JSON.parse(await readFile(join(path, REACHED_FILE), 'utf8')) as LogPlace
    return typeof log === 'string' && Number.isSafeInteger(position) ? { log, position } : undefined
  } catch {
    return undefined
  }
}

export async function writeReached(path: string, { log, position }: LogPlace): Promise<void> {
  const file = join(path, REACHED_FILE)
  await writeFile(`${file}.new`, JSON.stringify({ log, position }), OWNER_ONLY)
  await rename(`${file}.new`, file)
}
