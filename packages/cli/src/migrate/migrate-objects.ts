/**
 * Changes the objects of a bucket, page by page. An object is changed if its version is older than the schema, and only if it
 * still has that version at the commit. So each object is changed once, however often this is killed and run again, and no
 * concurrent write by another client is lost.
 */

import { isDeepStrictEqual } from 'node:util'
import { type CommitPart, type Database, FreshetError, idOf, type Stored, type Task, versionOf } from '@freshet/client'
import type { MigrationFile } from './read-migrations.js'

export interface Reached {
  /** The last id examined. */
  readonly after: string
  readonly done: number
  readonly changed: number
}

type Found = Stored<Record<string, unknown>>

const PAGE = 100
/** How many conflicts with other clients end the migration; each retry leaves out what they have changed. */
const ATTEMPTS_MAX = 100

/** Continues where the task stands. Reports after each page. */
export async function migrateObjects(
  db: Database,
  { bucket: name, change }: MigrationFile,
  task: Task,
  report: (reached: Reached) => Promise<void>,
): Promise<Reached | undefined> {
  const bucket = db.bucket(name)
  const { from = 0 } = task
  let { after, done, changed } = task
  for (;;) {
    const page = await bucket.page({ limit: PAGE, read: 'current', ...(after === undefined ? {} : { after }) })
    changed += await changePage(db, name, page.items, from, change)
    done += page.items.length
    const last = page.items.at(-1)
    if (last !== undefined) {
      after = idOf(last)
      await report({ after, done, changed })
    }
    if (page.next === undefined) return after === undefined ? undefined : { after, done, changed }
  }
}

/** Returns how many objects were written. */
async function changePage(
  db: Database,
  bucket: string,
  page: readonly Found[],
  from: number,
  change: MigrationFile['change'],
): Promise<number> {
  let found: readonly (Found | undefined)[] = page
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const old = found.filter(object => object !== undefined).filter(object => versionOf(object) < from)
    const parts = await changedParts(bucket, old, change)
    if (parts.length === 0) return 0
    try {
      await db.commit(parts)
      return parts.length
    } catch (error) {
      if (!isWorthAnotherLook(error)) throw error
    }
    found = await db.bucket(bucket).getMany(old.map(idOf), { read: 'current' })
  }
  throw new FreshetError(
    'SERVER_BUSY',
    `Other clients kept changing the same objects of ${bucket}. Run the command again.`,
  )
}

async function changedParts(
  bucket: string,
  old: readonly Found[],
  change: MigrationFile['change'],
): Promise<readonly CommitPart[]> {
  const parts: CommitPart[] = []
  for (const object of old) {
    const id = idOf(object)
    const before = { ...object }
    const value = await change(structuredClone(before), id)
    if (typeof value !== 'object' || value === null) {
      throw new FreshetError('CONFIG_INVALID', `change must return an object; for ${id} of ${bucket} it did not.`)
    }
    // Unchanged objects stay in the caches, too.
    if (!isDeepStrictEqual(value, before)) parts.push({ bucket, id, value, ifVersion: versionOf(object) })
  }
  return parts
}

/** A conflict; or no answer, after which the versions show whether the commit was done. */
function isWorthAnotherLook(error: unknown): boolean {
  if (!(error instanceof FreshetError)) return false
  return error.code === 'COMMIT_CONFLICT' || (error.code === 'REQUEST_FAILED' && error.details.outcome === 'unknown')
}
