/**
 * Judges a history of the model by its true times, in the plainest possible way. `marginUs` makes it stricter: a time
 * counts as before another only if it is earlier by more than the margin.
 */
import type { ReadRecord, WriteRecord } from '../record.js'
import type { Promised } from '../violation.js'
import type { ModelHistory, TrueRecord } from './model-history.js'

export type Finding = `${Promised} ${string}`

/** Every broken promise, as "promise session began path". */
export function judgeNaively(history: ModelHistory, marginUs: number): Set<Finding> {
  const findings = new Set<Finding>()
  const reads = history.records.filter(isRead)
  const writes = history.records.filter(isWrite)
  for (const read of reads) {
    for (const promised of judge(history, read, reads, writes, marginUs)) findings.add(nameOf(promised, read.record))
  }
  return findings
}

export function nameOf(promised: Promised, { s, b, path }: ReadRecord): Finding {
  return `${promised} ${s} ${b} ${path}`
}

function judge(
  { parents }: ModelHistory,
  { record: read, beganUs, endedUs }: TrueRecord<ReadRecord>,
  reads: readonly TrueRecord<ReadRecord>[],
  writes: readonly TrueRecord<WriteRecord>[],
  marginUs: number,
): Promised[] {
  if (read.within === undefined) return []
  const ofPath = writes.filter(({ record: { w = [], d = [] } }) => [...w, ...d].includes(read.path))
  const deletions = ofPath.filter(write => write.record.d?.includes(read.path) && write.beganUs <= endedUs + marginUs)
  const shown = read.v > 0 ? read.v : Math.max(0, ...deletions.map(({ record }) => record.at))
  const later = ofPath.filter(({ record }) => record.at > shown)
  const broken: Promised[] = []
  if (later.some(write => write.endedUs < beganUs - read.within! * 1000 - marginUs)) broken.push('current')
  if (later.some(({ record }) => record.at <= (read.sp ?? 0))) broken.push('position')
  const own = lineage(parents, read.s, beganUs)
  const isBefore = (each: TrueRecord<ReadRecord> | TrueRecord<WriteRecord>) =>
    own.some(({ session, untilUs }) => each.record.s === session && each.endedUs < untilUs)
  const seen = reads.filter(each => each.record.path === read.path && isBefore(each))
  if (seen.some(({ record: { v, pos } }) => (v > 0 ? v > shown : read.v > 0 && pos > shown))) broken.push('monotonic')
  if (later.some(isBefore)) broken.push('own write')
  return broken
}

function lineage(parents: ModelHistory['parents'], session: string, beganUs: number) {
  const own = [{ session, untilUs: beganUs }]
  for (let parent = parents.get(session); parent !== undefined; parent = parents.get(parent.session)) {
    own.push({ session: parent.session, untilUs: parent.atUs })
  }
  return own
}

function isRead(each: TrueRecord): each is TrueRecord<ReadRecord> {
  return each.record.op === 'read'
}

function isWrite(each: TrueRecord): each is TrueRecord<WriteRecord> {
  return each.record.op === 'write' || each.record.op === 'commit'
}
