/**
 * Tombstones are dropped once they are no longer needed, and never before: a tombstone that is gone cannot keep an old value from
 * coming back. Dropping one is safe if:
 * - every replica has the same tombstone, so no replica has an older value;
 * - no other node has a record of the key either. A node that was away when the key was moved still has one; it drops that first;
 * - no hint waits for its key, so none is delivered later; nor does a coordinator deliver a hint that it read before another
 *   coordinator delivered and removed it: see below;
 * - no operation that began before is still under way. For that the layout first gets a new epoch, on every node: whatever began
 *   under the old epoch is refused from then on and begins again, and finds the tombstone, or a key that was never written. After
 *   the waiting hints have been listed, the layout gets another epoch: the delivery of a hint that is no longer there is refused;
 * - later writes to the key also have later stamps: the layout's `floor` is raised above the tombstone's tenure.
 *
 * So every node must answer. While a node is away, nothing is collected.
 */
import type { Key } from '@freshet/core/store'
import { type CellRecord, compareStamps } from '../records/index.js'
import { allRecords, type FoundRecords } from './all-records.js'
import type { Cells } from './cells.js'
import { decideLayout } from './decide-layout.js'
import type { LayoutView } from './layout-view.js'
import type { NodeLine, Seen } from './node-line.js'

export interface CollectReport {
  /** Tombstones that were the same on all replicas, and how many of them were dropped. */
  readonly found: number
  readonly collected: number
}

export interface CollectProgress {
  readonly step: 'looking for tombstones' | 'dropping tombstones'
  readonly key: Key
  readonly keys: number
  /** Once it is known. */
  readonly total?: number
}

export interface CollectOptions {
  /** Called between two keys. If it throws, the collection ends with that error. */
  readonly onProgress?: (progress: CollectProgress) => void
}

/** Throws RING_UNAVAILABLE if a node does not answer. */
export async function collectTombstones(
  cells: Cells,
  { onProgress = () => undefined }: CollectOptions = {},
): Promise<CollectReport> {
  const found = await findTombstones(cells, onProgress)
  if (found.size === 0) return { found: 0, collected: 0 }
  const above = Math.max(...[...found.values()].map(({ tenure, stamp }) => Math.max(tenure, stamp.tenure))) + 1
  await decideLayout(cells, layout => ({ ...layout, floor: Math.max(layout.floor, above) }))
  const waiting = await cells.restarting('hints', async view => {
    await checkAll(view)
    return cells.hints.keysWaiting(view)
  })
  await decideLayout(cells, layout => layout)
  return cells.restarting('tombstones', async view => {
    await checkAll(view)
    let [collected, keys] = [0, 0]
    for (const [key, { stamp }] of found) {
      onProgress({ step: 'dropping tombstones', key, keys: ++keys, total: found.size })
      if (waiting.has(key)) continue
      // If a tenure was granted since, its holder may have given timestamps above the floor.
      const isSame = (record: CellRecord) =>
        isTombstone(record) && compareStamps(record.stamp, stamp) === 0 && record.tenure < view.layout.floor
      if (await dropEverywhere(key, isSame, view)) collected++
    }
    return { found: found.size, collected }
  })
}

/** Checks all nodes, not only a majority: an operation that began before could still arrive at a missing one. */
async function checkAll(view: LayoutView): Promise<void> {
  await Promise.all(view.allLines().map(line => line.check(view.epoch)))
}

async function findTombstones(
  cells: Cells,
  onProgress: NonNullable<CollectOptions['onProgress']>,
): Promise<Map<Key, CellRecord>> {
  return cells.restarting('tombstones', async view => {
    const found = new Map<Key, CellRecord>()
    let keys = 0
    if (view.layout.before !== undefined) return found
    for await (const each of allRecords(view.allLines(), view.epoch)) {
      onProgress({ step: 'looking for tombstones', key: each.key, keys: ++keys })
      const record = commonTombstone(each, view)
      if (record !== undefined) found.set(each.key, record)
    }
    return found
  })
}

/** The one with the highest tenure, if all replicas have the same tombstone. */
function commonTombstone({ key, records }: FoundRecords, view: LayoutView): CellRecord | undefined {
  const all = view.linesOf(key).map(({ name }) => records.get(name)?.record)
  const [first] = all
  if (first === undefined) return undefined
  const isCommon = all.every(each => each && isTombstone(each) && compareStamps(each.stamp, first.stamp) === 0)
  return isCommon ? (all as CellRecord[]).reduce((a, b) => (a.tenure >= b.tenure ? a : b)) : undefined
}

/** First drops what is left over from another layout: as long as the replicas have the tombstone, that can do no harm. */
async function dropEverywhere(key: Key, isSame: (record: CellRecord) => boolean, view: LayoutView): Promise<boolean> {
  const replicas = view.linesOf(key)
  const others = view.allLines().filter(line => !replicas.includes(line))
  const [seen, left] = await Promise.all([readAll(replicas, key, view), readAll(others, key, view)])
  const [first] = seen
  if (first === undefined || !seen.every(({ record }) => isSame(record))) return false
  if (left.some(({ record }) => compareStamps(record.stamp, first.record.stamp) > 0)) return false
  return (await drop(key, left, view)) && drop(key, seen, view)
}

type SeenOn = Seen & { readonly line: NodeLine }

function readAll(lines: readonly NodeLine[], key: Key, { epoch }: LayoutView): Promise<SeenOn[]> {
  return Promise.all(lines.map(async line => ({ line, ...(await line.read(key, epoch)) })))
}

async function drop(key: Key, seen: readonly SeenOn[], { epoch }: LayoutView): Promise<boolean> {
  const there = seen.filter(({ version }) => version > 0)
  const dropped = await Promise.all(
    there.map(({ line, version }) => line.replace({ key, body: undefined }, version, epoch)),
  )
  return dropped.every(version => version !== undefined)
}

/** Not with a stamp that was decided elsewhere: its writer may still write an older one. */
function isTombstone({ stamp, value }: CellRecord): boolean {
  return value === undefined && stamp.tenure > 0
}
