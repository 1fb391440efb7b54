/** One step of building indexes, for the objects that are older than the indexes. */
import { parseFields } from '../queries/index.js'
import type { Content } from './commit-view.js'
import { type EntryChange, valuesOf } from './decide-indexes.js'
import type { IndexRecord } from './index-record.js'

export interface BuildProgress {
  /** The last id of this step; undefined: there are no more objects. */
  readonly cursor: string | undefined
  /** How many objects there were when the build began. */
  readonly total: number
}

export interface BuildStep {
  /** All indexes of the bucket, as they are after this step. */
  readonly indexes: readonly IndexRecord[]
  readonly entries: readonly EntryChange[]
}

/** The indexes of a bucket that the next step is for: those whose builds have reached the same id. */
export function unbuiltOf(indexes: readonly IndexRecord[]): readonly IndexRecord[] {
  const unready = indexes.filter(({ isReady }) => !isReady)
  return unready.filter(({ cursor }) => cursor === unready[0]!.cursor)
}

/** Undefined content: the object was deleted meanwhile. */
export function buildStep(
  indexes: readonly IndexRecord[],
  objects: Iterable<readonly [id: string, content: Content | undefined]>,
  progress: BuildProgress,
): BuildStep {
  const building = unbuiltOf(indexes)
  const entries: EntryChange[] = []
  let done = 0
  for (const [id, content] of objects) {
    if (content === undefined) continue
    const value = parseFields(content.contentType, content.body)
    for (const index of building) {
      entries.push({ index: index.number, values: valuesOf(index, value), id, isThere: true })
    }
    done++
  }
  return { entries, indexes: indexes.map(index => (building.includes(index) ? advance(index, done, progress) : index)) }
}

/** An index after a step of its build. */
export function advance(index: IndexRecord, done: number, { cursor, total }: BuildProgress): IndexRecord {
  const { cursor: _, ...rest } = index
  const soFar = index.done + done
  // Some objects may have been added or deleted since they were counted.
  if (cursor === undefined) return { ...rest, isReady: true, done: soFar, total: soFar }
  return { ...rest, cursor, done: soFar, total: Math.max(total, soFar) }
}
