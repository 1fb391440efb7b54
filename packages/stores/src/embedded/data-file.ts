/**
 * A look at the engine's file before the engine is let near it: lmdb ends the whole process when it opens a file that is
 * not its own, and when it reads a page that a cut-off file no longer has. LMDB's first two pages say what is needed:
 *
 *     24  4  magic, beefc0de          in each of the first two pages; numbers are little-endian
 *     28  4  data version in the low half: 2
 *     48  4  bytes in a page
 *    144  8  number of the last page
 */
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { DATA_FILE } from './engine.js'
import { storeDamaged } from './engine-errors.js'

const MAGIC = 0xbeefc0de
const DATA_VERSION = 2
const HEADER_BYTES = 160

/** Throws STORE_DAMAGED unless there is no data yet, or a file that is whole as far as can be seen. */
export async function checkDataFile(path: string): Promise<void> {
  const file = await open(join(path, DATA_FILE)).catch(ignoreAbsence)
  if (file === undefined) return
  try {
    const { size } = await file.stat()
    if (size === 0) return
    const first = Buffer.alloc(HEADER_BYTES)
    await file.read(first, 0, HEADER_BYTES, 0)
    checkHeader(path, first)
    const pageBytes = first.readUInt32LE(48)
    const second = Buffer.alloc(HEADER_BYTES)
    await file.read(second, 0, HEADER_BYTES, pageBytes)
    checkHeader(path, second)
    // Of the two states the older must be whole; the machine may have gone down while it wrote the newer.
    const pages = 1 + Math.min(lastPage(first), lastPage(second))
    if (size < pages * pageBytes) throw storeDamaged(path, `${DATA_FILE} is cut off: ${pages} pages do not fit into it`)
  } finally {
    await file.close()
  }
}

function ignoreAbsence(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}

function checkHeader(path: string, header: Buffer): void {
  if (header.readUInt32LE(24) === MAGIC && header.readUInt16LE(28) === DATA_VERSION) return
  throw storeDamaged(path, `${DATA_FILE} is not what the engine wrote`)
}

function lastPage(header: Buffer): number {
  return Number(header.readBigUInt64LE(144))
}
