/**
 * How a store is opened: one process becomes its writer, in one transaction. The same transaction begins another log if the
 * store was restored from a backup (`store-place.ts`), and skips the positions that may have been given earlier
 * (`lmdb-engine.ts`).
 */
import { randomUUID } from 'node:crypto'
import { COPIED_MEMORY, type Position } from '@freshet/core/store'
import { encodeNumber } from '@freshet/store/records'
import { isOtherFile } from '../files/file-identity.js'
import type { Environment } from './environment.js'
import { TASKS_PER_BATCH_MAX } from './group-commit.js'
import { bootId } from './processes.js'
import { decodeHead, encodeFormat, encodeHead, FORMAT_VERSION, type Head } from './records.js'
import { flushFolder } from './store-folder.js'
import { type FoundFile, writeReached } from './store-place.js'

const POSITIONS_SKIPPED = 2 * TASKS_PER_BATCH_MAX

/**
 * Called before anything is written. If the file is a copy, the note stays, so that the copy is detected again if this
 * process ends too early.
 */
export async function noteOpening(path: string, { reached, changedNs }: FoundFile): Promise<void> {
  if (reached?.changedNs !== changedNs) return
  await writeReached(path, { log: reached.log, position: reached.position })
  await flushFolder(path)
}

export interface Opening {
  readonly head: Head
  readonly log: string
}

interface FoundPlace extends FoundFile {
  readonly place: string
}

/** Makes this process the writer, durably. */
export async function beginEpoch(
  environment: Environment,
  durability: 'disk' | 'relaxed',
  positionsAfter: Position,
  found: FoundPlace,
): Promise<Opening> {
  const { place, file, reached } = found
  const opening = await environment.transaction(() => {
    const record = environment.meta.get('head')
    const before = record && decodeHead(record)
    const reachedPosition = reached === undefined ? 0 : reached.position + 1
    const head = before
      ? {
          ...before,
          epoch: before.epoch + 1,
          position: Math.max(before.position + POSITIONS_SKIPPED, positionsAfter, reachedPosition),
        }
      : { epoch: 1, position: positionsAfter, timeMs: 0 }
    const logBefore = environment.meta.get('log')?.toString()
    // A store written by an older Freshet has no place noted.
    const isElsewhere = (environment.meta.get('place')?.toString() ?? place) !== place
    const isOlder = before && reached && (reached.log !== logBefore || reached.position > before.position)
    const isChanged = reached?.changedNs !== undefined && reached.changedNs !== found.changedNs
    const isCopied = isOtherFile(environment.meta.get('file')?.toString() ?? file, file) || (isChanged && !isElsewhere)
    const isSameLog = logBefore !== undefined && !isElsewhere && !isOlder && !isCopied
    const log = isSameLog ? logBefore : randomUUID()
    if (!before) environment.meta.put('format', encodeFormat(FORMAT_VERSION), head.epoch)
    if (!isSameLog) {
      environment.meta.put('log', Buffer.from(log), head.epoch)
      environment.meta.put('trimmed', encodeNumber(head.position), head.epoch)
    }
    environment.meta.put('place', Buffer.from(place), head.epoch)
    environment.meta.put('file', Buffer.from(file), head.epoch)
    if (isCopied) environment.memory.put(COPIED_MEMORY, Buffer.from(`${head.position}`))
    if (durability === 'relaxed') environment.meta.put('relaxed', Buffer.from(bootId()), head.epoch)
    else environment.meta.remove('relaxed')
    environment.meta.put('head', encodeHead(head), head.epoch)
    return { head, log }
  })
  await environment.flush()
  return opening
}
