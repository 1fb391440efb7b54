/**
 * One page of a bucket, merged from the nodes. With hashed keys every node has a part of a bucket, so all nodes are asked. Of
 * each key's replicas, as many must answer as the level requires, so only a few nodes may be missing.
 */
import { type Key, type ScanRange, scanLimit } from '@freshet/core/store'
import { compareUtf8 } from '@freshet/protocol'
import type { NodePage } from '../nodes/node.js'
import { type Cell, type CellValue, compareStamps, neededAt, type ReadLevel, type Stamp } from '../records/index.js'
import { checkLayoutSame, gather } from './gather.js'
import type { LayoutView } from './layout-view.js'
import { decodeRecord } from './record-text.js'
import { tooFew } from './refusals.js'

export interface CellEntry extends CellValue {
  readonly id: string
  readonly stamp: Stamp
}

export interface CellPage {
  readonly entries: readonly CellEntry[]
  /** Pass it as `after` to get the next page; undefined when the range is exhausted. Pages may be short. */
  readonly next?: string
}

/** CURRENT applies to a single key: no node knows what is current in a whole bucket. */
export type ScanLevel = Exclude<ReadLevel, 'CURRENT'>
export type CellRange = Omit<ScanRange, 'filter'>

export async function scanCells(bucket: Key, range: CellRange, level: ScanLevel, view: LayoutView): Promise<CellPage> {
  const limit = scanLimit(range)
  const lines = view.allLines()
  const result = await gather(
    lines,
    line => line.scan(bucket, { ...range, limit }, view.epoch),
    answers => isCovered(new Set(answers.keys()), level, view),
  )
  checkLayoutSame(result)
  if (!result.isEnough) throw tooFew('read', bucket, level, result, 'not-done')
  const end = endOf([...result.answers.values()])
  const cells = mergePages(bucket, result.answers, end, view)
  const entries = [...cells]
    .filter(([, { value }]) => value !== undefined)
    .map(([id, { stamp, value }]) => ({ id, stamp, ...value! }))
    .sort((a, b) => compareUtf8(a.id, b.id))
  const page = entries.slice(0, limit)
  const next = entries.length > limit ? page.at(-1)!.id : end
  return next === undefined ? { entries: page } : { entries: page, next }
}

/** Whether enough nodes of every set of replicas have answered. */
function isCovered(names: ReadonlySet<string>, level: ScanLevel, view: LayoutView): boolean {
  const sets = view.allSets()
  return sets.every(set => set.filter(name => names.has(name)).length >= neededAt(level, set.length))
}

/** The id up to which every node has returned all its entries. */
function endOf(pages: readonly NodePage[]): string | undefined {
  const ends = pages.flatMap(({ next }) => next ?? [])
  return ends.length === 0 ? undefined : ends.reduce((a, b) => (compareUtf8(a, b) <= 0 ? a : b))
}

/** A record that a node still has of a key that was moved to others does not count. */
function mergePages(
  bucket: Key,
  pages: ReadonlyMap<string, NodePage>,
  end: string | undefined,
  view: LayoutView,
): Map<string, Cell> {
  const cells = new Map<string, Cell>()
  for (const [name, { entries }] of pages) {
    for (const { id, body } of entries) {
      if (end !== undefined && compareUtf8(id, end) > 0) continue
      if (!view.setsOf(`${bucket}/${id}`).some(set => set.includes(name))) continue
      const cell = decodeRecord(body)
      const before = cells.get(id)
      if (before === undefined || compareStamps(cell.stamp, before.stamp) > 0) cells.set(id, cell)
    }
  }
  return cells
}
