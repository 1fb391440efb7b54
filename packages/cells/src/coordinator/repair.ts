/**
 * Anti-entropy: goes through all keys, and gives replicas that are behind the latest cell that any node has. Writes at ONE or
 * ANY, and writes that were made while a node was away for longer than hints were kept, are then on all replicas. A record that
 * is left on a node that was away when its key was moved to others is given to those, and dropped.
 *
 * Nodes are engines that cannot compare anything by themselves, so they have no trees of hashes to exchange: every record is read
 * once from each node, in pages. A repair can be stopped and continued later: the caller keeps the last key that was compared.
 */
import type { Key } from '@freshet/core/store'
import { type Cell, compareStamps, copied, EMPTY_RECORD } from '../records/index.js'
import { allRecords, type FoundRecords } from './all-records.js'
import type { Cells } from './cells.js'
import type { LayoutView } from './layout-view.js'
import type { NodeLine } from './node-line.js'

export interface RepairProgress {
  /** The last key that was compared: pass it as `after` to continue from there. */
  readonly key: Key
  readonly keys: number
  /** Replicas that were behind, and have been given the latest cell. */
  readonly repaired: number
}

export interface RepairOptions {
  readonly after?: Key
  readonly onProgress?: (progress: RepairProgress) => void
  readonly signal?: AbortSignal
}

export interface RepairReport {
  readonly keys: number
  readonly repaired: number
  /** False if it was stopped. */
  readonly isDone: boolean
}

/** Throws RING_UNAVAILABLE if a node does not answer: replicas that cannot be compared cannot be repaired. */
export async function repair(cells: Cells, { after, onProgress, signal }: RepairOptions = {}): Promise<RepairReport> {
  let [keys, repaired, from] = [0, 0, after]
  // After a change of the layout, the repair continues from the last key.
  return cells.restarting('repair', async view => {
    for await (const found of allRecords(view.allLines(), view.epoch, from === undefined ? {} : { after: from })) {
      if (signal?.aborted === true) return { keys, repaired, isDone: false }
      repaired += await repairKey(found, view)
      keys++
      from = found.key
      onProgress?.({ key: found.key, keys, repaired })
    }
    return { keys, repaired, isDone: true }
  })
}

async function repairKey({ key, records }: FoundRecords, view: LayoutView): Promise<number> {
  const lines = view.linesOf(key)
  const cellOn = (name: string): Cell => records.get(name)?.record ?? EMPTY_RECORD
  const others = view.allLines().filter(line => records.has(line.name) && !lines.includes(line))
  const latest = [...lines, ...others]
    .map(({ name }) => cellOn(name))
    .reduce((a, b) => (compareStamps(a.stamp, b.stamp) >= 0 ? a : b))
  const behind = lines.filter(({ name }) => compareStamps(cellOn(name).stamp, latest.stamp) < 0)
  await Promise.all(behind.map(line => line.change(key, view.epoch, record => copied(record, latest) ?? record)))
  const drop = (line: NodeLine) => line.replace({ key, body: undefined }, records.get(line.name)!.version, view.epoch)
  await Promise.all(others.map(drop))
  return behind.length
}
