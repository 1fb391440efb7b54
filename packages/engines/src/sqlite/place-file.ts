/**
 * Beside `shop.db` there is `shop.db-place`: the log and a position that the store had reached. It shows whether an older
 * copy of the file was restored over it. Once the last process has closed the store, it also has the time when the file last
 * changed, and so shows whether both files were restored. It is written when the store is opened, within the transaction of
 * opening, when it is closed, and every few seconds in between.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import type { LogPlace } from '@freshet/core/store'
import { statFile } from '../files/file-identity.js'

export interface NotedPlace extends LogPlace {
  /** When the file last changed, in nanoseconds. Undefined: the store is open, or was not closed. */
  readonly changedNs?: string | undefined
}

/** Undefined if the file does not exist or cannot be read. */
export function readPlace(path: string): NotedPlace | undefined {
  try {
    const { log, position, changedNs } = JSON.parse(readFileSync(placeFileOf(path), 'utf8')) as NotedPlace
    return typeof log === 'string' && Number.isSafeInteger(position) ? { log, position, changedNs } : undefined
  } catch {
    return undefined
  }
}

export function writePlace(path: string, place: NotedPlace): void {
  const file = placeFileOf(path)
  const written = `${file}.${randomUUID()}`
  writeFileSync(written, JSON.stringify(place), { mode: 0o600 })
  renameSync(written, file)
}

/**
 * Call after the store was closed. If no other process has the file open, its write-ahead log is empty, and the file no
 * longer changes.
 */
export function writeLastPlace(path: string, place: LogPlace): void {
  const changedNs = isLogEmpty(path) ? `${statFile(path).ctimeNs}` : undefined
  writePlace(path, { ...place, changedNs })
}

function isLogEmpty(path: string): boolean {
  return (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0
}

function placeFileOf(path: string): string {
  return `${path}-place`
}
