/**
 * The friendly half of having one writer: a file that names the process, so that a second server can report what to do. It is
 * not what keeps the data safe; that is the epoch, which every transaction checks (`group-commit.ts`).
 *
 * A lock is stale when its process is gone: it has ended, or is of an earlier boot, or its id now belongs to another process,
 * which started at another time. Stale locks are taken over silently.
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
  /** When the process started, in the kernel's ticks, and in which boot; empty where the system does not provide it. */
  readonly startedAt: string
  readonly boot: string
  /** Distinguishes two openings by one process. */
  readonly token: string
}

export interface WriterLock {
  /** Does nothing if another process has taken over the lock. */
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
  // Written under another name and moved, so that no process reads half of it.
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
    // The file does not exist, or is not a lock: in either case it names no process.
    return undefined
  }
}

function isAlive({ pid, startedAt, boot }: Holder): boolean {
  return boot === bootId() && isRunning(pid, startedAt)
}
