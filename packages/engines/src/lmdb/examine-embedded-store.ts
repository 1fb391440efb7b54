/**
 * Examines a whole embedded store, and passes on what is undamaged. While a server is writing to the store, this holds a
 * state, so that what it reads does not change; a store that no process has open is read without its engine, which might not
 * survive the damage.
 */

import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { IndexDeclaration, Key } from '@freshet/core/store'
import { decodeIndexes } from '@freshet/store/indexes'
import { bodyOf, type Content } from '@freshet/store/records'
import { openEmbeddedSnapshot } from './embedded-snapshot.js'
import { DATA_FILE, NAME_OF_TABLE } from './environment.js'
import { type Examination, type ExamineOptions, examineFile } from './integrity/examine-file.js'
import { FileDamage, LmdbFile, type Meta } from './integrity/lmdb-file.js'
import { storeUnusable } from './lmdb-errors.js'
import { requireStore } from './store-folder.js'
import { isLocked } from './writer-lock.js'

export interface ExamineStoreOptions extends Pick<ExamineOptions, 'path' | 'onProgress'> {
  /** Called with each undamaged object or bucket; for a bucket, with its indexes. The body is valid only during the call. */
  readonly onWhole?: (key: Key, content: Content, indexes: readonly IndexDeclaration[] | undefined) => void
}

const TRIES_MAX = 1000

/** Throws STORE_UNUSABLE if there is no store. */
export async function examineEmbeddedStore({ path, onProgress, onWhole }: ExamineStoreOptions): Promise<Examination> {
  await requireStore(path)
  const indexesOf = new Map<Key, readonly IndexDeclaration[]>()
  const onRecord: ExamineOptions['onRecord'] = (table, key, record) => {
    // The indexes come first: tables are read in the order of their names.
    if (table === NAME_OF_TABLE.indexes) {
      indexesOf.set(
        key,
        decodeIndexes(record).map(({ name, fields }) => ({ name, fields })),
      )
    }
    const content = table === NAME_OF_TABLE.values ? bodyOf(record) : undefined
    if (content !== undefined) onWhole?.(key, content, indexesOf.get(key))
  }
  const options = { path, onProgress, onRecord }
  const examination = (await isLocked(path)) ? await examineHeld(options) : await examineFile(options)
  if (examination === undefined) throw storeUnusable(path, 'its file is empty')
  return examination
}

async function examineHeld(options: ExamineOptions): Promise<Examination | undefined> {
  const snapshot = await openEmbeddedSnapshot(options.path)
  const file = new LmdbFile(join(options.path, DATA_FILE))
  try {
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const before = stateOf(file)
      snapshot.renew()
      snapshot.position()
      // If no commit came in between, the held state is this one.
      if (before !== undefined && stateOf(file)?.transaction === before.transaction) {
        return await examineFile({ ...options, meta: before })
      }
      await setImmediate()
    }
    throw storeUnusable(options.path, 'it changes too quickly to be examined; try again')
  } finally {
    file.close()
    await snapshot.close()
  }
}

/** Undefined if it is being written. */
function stateOf(file: LmdbFile): Meta | undefined {
  try {
    return file.state()
  } catch (error) {
    if (error instanceof FileDamage) return undefined
    throw error
  }
}
