/** Copies everything undamaged in an embedded store into a new one. The new store has its own log, so sessions start over. */
import { rename, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Write } from '@freshet/core/store'
import {
  type Examination,
  type ExamineStoreOptions,
  examineEmbeddedStore,
  openEmbeddedStore,
} from '@freshet/engines/lmdb'
import { FreshetError } from '@freshet/protocol'
import { refuseFilled } from '../restore/empty-folder.js'

const WRITES_PER_COMMIT = 500

export interface SalvageOptions extends Pick<ExamineStoreOptions, 'onProgress'> {
  readonly from: string
  readonly to: string
}

export interface Salvaged {
  /** Objects and buckets. */
  readonly objects: number
}

/** Creates the folder as a whole, or not at all. Throws STORE_UNUSABLE if the folder is not empty. */
export async function salvageStore({
  from,
  to,
  onProgress,
}: SalvageOptions): Promise<Salvaged & { readonly examination: Examination }> {
  await refuseFilled(to)
  const making = `${resolve(to)}.salvaging`
  await rm(making, { recursive: true, force: true })
  const store = await openEmbeddedStore({ path: making, durability: 'relaxed' })
  let waiting: Write[] = []
  let objects = 0
  const flush = async () => {
    const writes = waiting
    waiting = []
    for (let i = 0; i < writes.length; i += WRITES_PER_COMMIT) {
      await store.commit({ writes: writes.slice(i, i + WRITES_PER_COMMIT) })
    }
  }
  try {
    const examination = await examineEmbeddedStore({
      path: from,
      onProgress: async (done, total) => {
        await onProgress?.(done, total)
        await flush()
      },
      onWhole: (key, { contentType, body }, indexes) => {
        objects++
        waiting.push({ key, contentType, body: body.slice(), ...(indexes && { indexes }) })
      },
    })
    if (!examination.hasChecksums) throw withoutChecksums(from)
    await flush()
    await store.close()
    await rm(to, { recursive: true, force: true })
    await rename(making, to)
    return { objects, examination }
  } catch (error) {
    await store.close()
    await rm(making, { recursive: true, force: true })
    throw error
  }
}

function withoutChecksums(from: string): FreshetError {
  return new FreshetError(
    'STORE_UNUSABLE',
    `The records of ${from} have no checksums, so damaged records cannot be distinguished from good ones. Restore a backup.`,
  )
}
