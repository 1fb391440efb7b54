/**
 * One record of the change log, for all commits of one transaction, under the position of the last. Positions within it are
 * consecutive. The store's time comes first (8 bytes, double, little-endian), then the keys, UTF-8: a byte 0 separates the
 * keys of one commit, a byte 1 the commits. If a commit has tags, they follow its keys after a byte 2, separated by a byte 0.
 */
import type { Key, LogEntry, Position, Tag } from '@freshet/core/store'

const KEY_SEPARATOR = '\0'
const COMMIT_SEPARATOR = '\u0001'
const TAGS_MARK = '\u0002'

/** What the log records of one commit. */
export interface Changed {
  readonly keys: readonly Key[]
  readonly tags: readonly Tag[]
}

/** One record for all commits of a batch, in order. */
export function encodeLogBatch(timeMs: number, commits: readonly Changed[]): Uint8Array {
  const text = commits.map(spellChanged).join(COMMIT_SEPARATOR)
  const record = Buffer.allocUnsafe(8 + Buffer.byteLength(text))
  record.writeDoubleLE(timeMs)
  record.write(text, 8)
  return record
}

function spellChanged({ keys, tags }: Changed): string {
  const text = keys.join(KEY_SEPARATOR)
  return tags.length === 0 ? text : text + TAGS_MARK + tags.join(KEY_SEPARATOR)
}

function readChanged(text: string): Changed {
  const mark = text.indexOf(TAGS_MARK)
  if (mark === -1) return { keys: text.split(KEY_SEPARATOR), tags: [] }
  return { keys: text.slice(0, mark).split(KEY_SEPARATOR), tags: text.slice(mark + 1).split(KEY_SEPARATOR) }
}

export function decodeLogBatch(last: Position, record: Buffer): LogEntry[] {
  const timeMs = record.readDoubleLE()
  const commits = record.toString('utf8', 8).split(COMMIT_SEPARATOR)
  const first = last - commits.length + 1
  return commits.map((text, i) => ({ position: first + i, timeMs, ...readChanged(text) }))
}
