/**
 * The check when the file is opened: is it the same file as before, and does it still have everything that it acknowledged?
 * `attachment.ts` of @freshet/store describes what follows from the answer. A file that was restored from a copy gets another
 * log:
 *
 * - Another file: its time of birth differs from the one that the store has noted. Or no file beside it says how far it had
 *   come (`place-file.ts`).
 * - The same file with older contents: the position noted beside it is beyond them. Or it has changed while the store was
 *   closed.
 *
 * A change of its owner or mode while it is closed, or a move, looks the same, and costs sessions a fresh start.
 */
import { randomUUID } from 'node:crypto'
import { type Attached, type Found, isLost, judge, type Known, positionAfter } from '@freshet/store/engine'
import { type FileIdentity, isOtherFile } from '../files/file-identity.js'
import type { Connection } from './connection.js'
import type { NotedPlace } from './place-file.js'

/** The file as it was before it was opened. */
export interface FoundFile extends FileIdentity {
  /** The place noted beside the file. */
  readonly noted: NotedPlace | undefined
}

/**
 * Runs in a write transaction, so that if several processes open the file at once, one does the work and the others find it
 * done.
 */
export function attach(connection: Connection, known: Known, { file, changedNs, noted }: FoundFile): Attached {
  const [log, position, trimmedTo, fileBefore] = connection.row('found') as [string, number, number, string]
  const place = { log, position, trimmedTo }
  const isSameFile = !isOtherFile(fileBefore, file) && noted !== undefined && !isLost(place, noted)
  const isChanged = noted?.changedNs !== undefined && noted.changedNs !== changedNs
  const found: Found = { ...place, isSameEngine: isSameFile && !isChanged, isSameRun: true, mayHaveLost: false }
  connection.rows('noteFile', file)
  if (judge(found, known) === 'go-on') return { log, position, run: file }
  const latest = noted && noted.position > known.position ? noted : known
  const begun = { log: randomUUID(), position: positionAfter('start-over', found, latest) }
  connection.rows('beginLog', begun.log, begun.position, begun.position)
  return { ...begun, run: file }
}
