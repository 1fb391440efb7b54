/**
 * What is looked at when the file is opened: whether it is the one that it was, and whether it has all that it has acknowledged.
 * `../sql/attachment.ts` draws up what follows from that. A file that was copied back has another log:
 *
 * - Another file: another time of birth than the store has noted. Or there is nothing beside it that says how far it was
 *   (`place-file.ts`).
 * - The same file with older contents: what is noted beside it is beyond them. Or it has changed while the store was closed.
 *
 * A change of its owner or mode while it is closed, and a move, look the same, and cost sessions a fresh start.
 */
import { randomUUID } from 'node:crypto'
import { type Attached, type Found, isLost, judge, type Known, positionAfter } from '@freshet/store/engine'
import { type FileIdentity, isOtherFile } from '../files/file-identity.js'
import type { Connection } from './connection.js'
import type { NotedPlace } from './place-file.js'

/** As it was before it was opened. */
export interface FoundFile extends FileIdentity {
  /** What is noted beside it. */
  readonly noted: NotedPlace | undefined
}

/** In a transaction that writes, so that of several who open the file at once one does it and the others find it done. */
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
