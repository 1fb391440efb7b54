/**
 * A page of the change log, for people: which commits changed what, and when. The log has keys and tags, but no values.
 *
 * The log is read forwards, as stores have it. A request reads a bounded number of commits, and `next` says where to continue.
 */
import type { LogEntry, Store } from '@freshet/core/store'
import { FreshetError, type Key, type Position } from '@freshet/protocol'

export interface ChangePage {
  readonly entries: readonly ShownEntry[]
  /** Where to continue; absent at the end of the log. */
  readonly next?: Position
  /** Everything up to here has been trimmed from the log. */
  readonly trimmedTo: Position
  readonly position: Position
}

export interface ShownEntry {
  readonly position: Position
  /** How long ago, by the store's clock. */
  readonly agoMs: number
  readonly keys: readonly Key[]
  readonly tags: readonly string[]
}

export interface ChangesAsked {
  /** Undefined: from the start of the log. */
  readonly after: Position | undefined
  /** Only commits that changed this object, or something in this bucket. */
  readonly of: Key | undefined
  readonly limit: number
}

const LOOKED_AT_MAX = 20_000
const READ_AT_ONCE = 1000
/** How many keys of each commit are shown. */
const KEYS_MAX = 100

export async function readChangePage(store: Store, { after, of, limit }: ChangesAsked): Promise<ChangePage> {
  const trimmedTo = await store.trimmedTo()
  const position = await store.position()
  const entries: ShownEntry[] = []
  let from = Math.max(after ?? 0, trimmedTo)
  for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX && entries.length < limit; ) {
    const read = await changesAfter(store, from)
    for (const entry of read) {
      from = entry.position
      lookedAt++
      if (concerns(entry, of)) entries.push(shown(entry, of, store.nowMs()))
      if (entries.length === limit) break
    }
    if (read.length === 0) return { entries, trimmedTo, position }
  }
  return { entries, next: from, trimmedTo, position }
}

/** The log may be trimmed while it is read. Then the page continues where the log starts now. */
async function changesAfter(store: Store, after: Position): Promise<readonly LogEntry[]> {
  try {
    return await store.changes(after, READ_AT_ONCE)
  } catch (error) {
    if (!(error instanceof FreshetError) || error.code !== 'LOG_TRIMMED') throw error
    return store.changes(await store.trimmedTo(), READ_AT_ONCE)
  }
}

function concerns({ keys }: LogEntry, of: Key | undefined): boolean {
  return of === undefined || keys.some(key => isWithin(key, of))
}

function isWithin(key: Key, of: Key): boolean {
  return key === of || key.startsWith(`${of}/`)
}

/** Puts keys that match the request first. */
function shown({ position, timeMs, keys, tags }: LogEntry, of: Key | undefined, nowMs: number): ShownEntry {
  const asked =
    of === undefined ? keys : [...keys.filter(key => isWithin(key, of)), ...keys.filter(key => !isWithin(key, of))]
  const agoMs = Math.max(0, Math.round(nowMs - timeMs))
  return { position, agoMs, keys: asked.slice(0, KEYS_MAX), tags: tags.slice(0, KEYS_MAX) }
}
