/**
 * The friendly half of having one writer: a file that names the process, so that a second server is told what to do. It
 * is not what keeps the data safe; that is the epoch, which every transaction checks (`group-commit.ts`).
 *
 * A lock is stale when its process is gone: ended, or of an earlier boot, or its number now belongs to another process, which
 * started at another time. Stale locks are taken over without a word.
 */
import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FreshetError } from '@freshet/protocol'
import { bootId, isRunning, startOf } from './processes.js'
import { FILE_MODE } from './store-folder.js'

export const LOCK_FILE = 'writer.lock'

interface Holder {
  readonly pid: number
  /** When it started, in the kernel's ticks, and in which boot; where the system does not say, empty. */
  readonly startedAt: string
  readonly boot: string
  /** Sets two openings by one process apart. */
  readonly token: string
}

export interface WriterLock {
  /** Leaves it alone if it has passed to another. */
  release(): Promise<void>
}

export async function takeWriterLock(path: string): Promise<WriterLock> {
  const file = join(path, LOCK_FILE)
  const holder = await readHolder(file)
  if (holder && isAlive(holder)) {
    throw new FreshetError(
      'STORE_LOCKED',
      `The store at ${path} is open in process ${holder.pid}. Stop it, or choose another path with --data.`,
      { details: { pid: holder.pid } },
    )
  }
  const own: Holder = { pid: process.pid, startedAt: startOf(process.pid), boot: bootId(), token: randomUUID() }
  // Written aside and moved, so that nobody finds half of it.
  const draft = `${file}.${own.token}`
  await writeFile(draft, `${JSON.stringify(own)}\n`, { mode: FILE_MODE })
  await rename(draft, file)
  return {
    async release() {
      if ((await readHolder(file))?.token === own.token) await rm(file, { force: true })
    },
  }
}

/** Whether a living process has the store open for writing. */
export async function isLocked(path: string): Promise<boolean> {
  const holder = await readHolder(join(path, LOCK_FILE))
  return holder !== undefined && isAlive(holder)
}

async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder
  } catch {
    // Not there, or not readable as a lock: in either case it names nobody.
    return undefined
  }
}

function isAlive({ pid, startedAt, boot }: Holder): boolean {
  return boot === bootId() && isRunning(pid, startedAt)
}
