/**
 * One process at a time writes to a folder of backups: two would each continue from the same mark, and leave files that do not
 * follow each other. A process that wants to write creates a file that identifies it, and then looks for the files of others: of
 * two processes, at least one sees the other and steps back. The file of a process that has ended is removed. Whether a process
 * on another machine has ended is unknown here, so an operator has to remove its file.
 */
import { randomUUID } from 'node:crypto'
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { bootId, isRunning, startOf } from '@freshet/engines/lmdb'
import { FreshetError } from '@freshet/protocol'

/** Hidden, so that it does not count as a file of the backup. */
const LOCK_FILE = '.lock-'
const DRAFT = '.draft-'

interface Holder {
  readonly pid: number
  readonly startedAt: string
  readonly boot: string
  readonly host: string
}

export interface FolderLock {
  release(): Promise<void>
}

const ATTEMPTS_MAX = 5
const PAUSE_MS_MAX = 100

/** Throws STORE_LOCKED. */
export async function lockFolder(folder: string): Promise<FolderLock> {
  for (let attempt = 1; ; attempt++) {
    const name = await putOwn(folder)
    const release = () => rm(join(folder, name), { force: true })
    const other = await findOther(folder, name)
    if (other === undefined) return { release }
    await release()
    if (attempt === ATTEMPTS_MAX) throw locked(folder, other)
    // The other process may have stepped back, too.
    await delay(Math.random() * PAUSE_MS_MAX)
  }
}

interface Other extends Holder {
  readonly file: string
}

/** The file gets its name only once it is complete. */
async function putOwn(folder: string): Promise<string> {
  const { pid } = process
  const own: Holder = { pid, startedAt: startOf(pid), boot: bootId(), host: hostname() }
  const id = randomUUID()
  const draft = join(folder, `${DRAFT}${id}`)
  await writeFile(draft, `${JSON.stringify(own)}\n`, { mode: 0o600 })
  await rename(draft, join(folder, `${LOCK_FILE}${id}`))
  return `${LOCK_FILE}${id}`
}

/** Another process that may be at work; the files of processes that have ended are removed. */
async function findOther(folder: string, own: string): Promise<Other | undefined> {
  const names = (await readdir(folder)).filter(name => name.startsWith(LOCK_FILE) && name !== own)
  for (const name of names) {
    const file = join(folder, name)
    const holder = await readHolder(file)
    if (holder !== undefined && !hasEnded(holder)) return { ...holder, file }
    await rm(file, { force: true })
  }
  return undefined
}

/** Undefined: the file is gone, or a power cut has emptied it. */
async function readHolder(file: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Holder
  } catch {
    return undefined
  }
}

/** As far as this machine can tell. */
function hasEnded({ pid, startedAt, boot, host }: Holder): boolean {
  if (host !== hostname()) return false
  return boot !== bootId() || !isRunning(pid, startedAt)
}

function locked(folder: string, { pid, host, file }: Other): FreshetError {
  const isElsewhere = host !== hostname()
  const who = `process ${pid}${isElsewhere ? ` on ${host}` : ''}`
  const what = isElsewhere ? `If it has ended, remove ${file}.` : 'Wait for it to end, or stop it.'
  return new FreshetError('STORE_LOCKED', `Another backup is writing to ${folder}: ${who}. ${what}`)
}
