/**
 * Nodes join and leave the layout while it is in use. During a change there are two layouts, and an operation needs enough of the
 * replicas by both (`CellsLayout.before`): so it has a replica in common with every operation before the change, and with every
 * operation after it. (As Raft's joint consensus, Ongaro and Ousterhout 2014, section 6.)
 *
 * 1. The joint layout is decided, and put into effect on the nodes: from then on no coordinator writes by the old layout alone.
 * 2. Keys that have other replicas by the new layout are moved: for each key, the latest cell and the highest tenure of a
 *    majority of its old replicas go to a majority of the new ones. Hints on a node that leaves are moved too.
 * 3. The new layout alone is decided.
 * 4. Nodes drop the records that are no longer theirs. Records left on a node that is away are dropped by a repair or a
 *    collection of tombstones. While such a record is there, no tombstone of its key is collected: otherwise the record might
 *    come back, years later, when the node becomes a replica of the key again.
 *
 * An interrupted change continues when it is run again. A process that has read one layout decides only on the one directly after
 * it. Otherwise, if another process had begun a change meanwhile, the `before` of that change would be gone before its records
 * were moved.
 */
import type { Key } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import type { CellsLayout, LayoutNode } from '../layout/cells-layout.js'
import { createPlacement } from '../layout/placement.js'
import { type CellRecord, compareStamps, EMPTY_RECORD, isEnough, laterStamp, merged } from '../records/index.js'
import { allRecords, bucketsOn, type FoundRecords } from './all-records.js'
import type { Cells } from './cells.js'
import { decideLayout, settleLayout } from './decide-layout.js'
import type { LayoutView } from './layout-view.js'
import { LayoutChanged, type NodeLine } from './node-line.js'
import { cellsUnusable } from './refusals.js'

export interface MoveProgress {
  readonly step: 'moving' | 'cleaning'
  readonly key: Key
  readonly keys: number
  /** Keys that had to be moved, or records that were dropped. */
  readonly changed: number
}

export interface ChangeOptions {
  readonly onProgress?: (progress: MoveProgress) => void
}

export interface LeaveOptions extends ChangeOptions {
  /** The node does not come back: writes at ONE or ANY that only it has are lost. Without this the node must answer. */
  readonly isLost?: boolean
}

export interface ChangeReport {
  readonly epoch: number
  readonly keys: number
  readonly moved: number
  readonly dropped: number
}

/** Throws RING_UNUSABLE if the node is not empty, or another change is under way. */
export async function joinCells(cells: Cells, node: LayoutNode, options: ChangeOptions = {}): Promise<ChangeReport> {
  return unlessChanged(async () => {
    const layout = await settleLayout(cells)
    if (layout.before === undefined) {
      if (layout.nodes.some(({ name }) => name === node.name)) throw cellsUnusable(`${node.name} belongs to it already`)
      await checkEmpty(cells.lineTo(node), layout)
      const wanted: CellsLayout = { ...layout, nodes: [...layout.nodes, node], before: layout.nodes }
      // The node must know the layout before it is asked for anything. If the join then fails, an empty node has a layout with an
      // epoch below all that were decided: a process that finds this layout first must not take it for a decided one.
      await cells.lineTo(node).install({ ...wanted, epoch: 0 }, 0)
      await decideLayout(cells, after(layout, wanted))
    } else if (!isJoining(layout, node.name))
      throw cellsUnusable('another change of the ring is under way; finish that first')
    return finishChange(cells, options)
  })
}

/**
 * A majority of the replicas of every key must answer. Throws RING_UNUSABLE if there is no such node, or another change is under
 * way.
 */
export async function leaveCells(cells: Cells, name: string, options: LeaveOptions = {}): Promise<ChangeReport> {
  return unlessChanged(async () => {
    const layout = await settleLayout(cells)
    if (layout.before === undefined) {
      const node = layout.nodes.find(each => each.name === name)
      if (node === undefined) throw cellsUnusable(`there is no node ${name} in it`)
      if (!options.isLost) await checkThere(cells.lineTo(node), layout)
      const wanted = { ...layout, nodes: layout.nodes.filter(each => each.name !== name), before: layout.nodes }
      await decideLayout(cells, after(layout, wanted))
    } else if (!isLeaving(layout, name))
      throw cellsUnusable('another change of the ring is under way; finish that first')
    return finishChange(cells, options)
  })
}

/** Allows the change only directly after the layout that was read. */
function after(layout: CellsLayout, wanted: CellsLayout): (now: CellsLayout) => CellsLayout {
  return now => {
    if (now.epoch !== layout.epoch) throw new LayoutChanged()
    return wanted
  }
}

/** Reports it if another process has changed the layout meanwhile. */
async function unlessChanged<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof LayoutChanged)) throw error
    const what = 'Another process changed the ring meanwhile. Look at its state (freshet ring status), and try again.'
    throw new FreshetError('RING_UNAVAILABLE', what, { cause: error, details: { outcome: 'unknown' } })
  }
}

function isJoining({ nodes, before = nodes }: CellsLayout, name: string): boolean {
  return nodes.some(node => node.name === name) && !before.some(node => node.name === name)
}

function isLeaving({ nodes, before = nodes }: CellsLayout, name: string): boolean {
  return before.some(node => node.name === name) && !nodes.some(node => node.name === name)
}

async function checkEmpty(line: NodeLine, layout: CellsLayout): Promise<void> {
  const own = await line.readLayout()
  // Left by an attempt to join that failed: then the node is as empty as it was.
  const isOurs = own?.layout.secret === layout.secret && own.layout.epoch <= layout.epoch
  const isOfAttempt = isOurs && isJoining(own.layout, line.name)
  if (own !== undefined && !isOfAttempt) {
    throw cellsUnusable(`node ${line.name} was in a ring before; empty it first, because its records may be old`)
  }
  const buckets = await bucketsOn([line])
  if (buckets.length > 0)
    throw cellsUnusable(`node ${line.name} is not empty: it has ${buckets.slice(0, 3).join(', ')}`)
}

async function checkThere(line: NodeLine, { epoch }: CellsLayout): Promise<void> {
  try {
    await line.check(epoch)
  } catch (error) {
    throw error instanceof LayoutChanged ? error : silent(line.name, error)
  }
}

function silent(name: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'RING_UNAVAILABLE',
    `${name} does not answer, and it alone may have writes at ONE or ANY. Start it; or, if the node and those writes are lost, ` +
      `run: freshet ring leave ${name} --lost`,
    { cause, details: { outcome: 'not-done' } },
  )
}

async function finishChange(cells: Cells, options: LeaveOptions): Promise<ChangeReport> {
  const { layout } = cells
  const { before, ...alone } = layout
  // Another process has finished the change.
  if (before === undefined) throw new LayoutChanged()
  const { keys, moved } = await moveRecords(cells, options)
  const { epoch } = await decideLayout(cells, after(layout, alone))
  // Nodes that have left get the layout too, if they answer: else a coordinator that has not heard of it could still write to
  // them.
  await Promise.allSettled(before.map(node => cells.lineTo(node).check(epoch)))
  const dropped = await dropForeign(cells, options)
  return { epoch, keys, moved, dropped }
}

async function moveRecords(
  cells: Cells,
  { onProgress, isLost = false }: LeaveOptions,
): Promise<{ keys: number; moved: number }> {
  const { view } = cells
  const [lines, missing] = await reachable(cells)
  // A leaving node must have answered: then it has the new layout, and no coordinator can write to it by the old one, unseen.
  const unseen = isLost ? undefined : missing.find(name => isLeaving(view.layout, name))
  if (unseen !== undefined) throw silent(unseen)
  const sets = createPlacement(view.layout.before!, view.layout).ranges()
  const there = new Set(lines.map(({ name }) => name))
  if (
    !isEnough(
      there,
      sets.map(({ replicas }) => replicas),
      'QUORUM',
    )
  ) {
    throw new FreshetError('RING_UNAVAILABLE', `Nothing was moved: ${missing.join(', ')} do not answer. Start them.`, {
      details: { outcome: 'not-done' },
    })
  }
  let [keys, moved] = [0, 0]
  for await (const found of allRecords(lines, view.epoch)) {
    if (await moveKey(found, view)) moved++
    onProgress?.({ step: 'moving', key: found.key, keys: ++keys, changed: moved })
  }
  await moveHints(cells, lines)
  return { keys, moved }
}

/** The nodes that answer, all of which have the layout in effect by now. */
async function reachable(cells: Cells): Promise<[lines: readonly NodeLine[], missing: readonly string[]]> {
  const all = cells.view.allLines()
  const results = await Promise.allSettled(all.map(line => line.check(cells.view.epoch)))
  const lines = all.filter((_, i) => results[i]!.status === 'fulfilled')
  return [lines, all.filter(line => !lines.includes(line)).map(({ name }) => name)]
}

async function moveKey({ key, records }: FoundRecords, view: LayoutView): Promise<boolean> {
  const [before, now] = view.setsOf(key) as [readonly string[], readonly string[]]
  if (now.every(name => before.includes(name)) && now.length === before.length) return false
  const old = before.map(name => records.get(name)?.record ?? EMPTY_RECORD).reduce(merged)
  const change = (record: CellRecord) => {
    const next = merged(record, old)
    const isSame = compareStamps(next.stamp, record.stamp) === 0 && next.tenure === record.tenure
    return isSame && next.holder === record.holder ? record : next
  }
  const results = await Promise.allSettled(
    view.linesNamed(now).map(async line => {
      await line.change(key, view.epoch, change)
      return line.name
    }),
  )
  const done = new Set(results.flatMap(each => (each.status === 'fulfilled' ? [each.value] : [])))
  if (isEnough(done, [now], 'QUORUM')) return true
  throw new FreshetError(
    'RING_UNAVAILABLE',
    `${key} could not be moved to a majority of ${now.join(', ')}. Try again.`,
    {
      details: { outcome: 'unknown' },
    },
  )
}

async function moveHints(cells: Cells, lines: readonly NodeLine[]): Promise<void> {
  const { view } = cells
  for (const line of lines.filter(({ name }) => isLeaving(view.layout, name))) {
    const others = lines.filter(each => each !== line && !isLeaving(view.layout, each.name))
    await cells.hints.moveFrom(line, others, view)
  }
}

async function dropForeign(cells: Cells, { onProgress }: ChangeOptions): Promise<number> {
  const { view } = cells
  const [lines] = await reachable(cells)
  let [keys, dropped] = [0, 0]
  for await (const { key, records } of allRecords(lines, view.epoch)) {
    const own = new Set(view.setsOf(key).flat())
    const stampOn = (name: string) => (records.get(name)?.record ?? EMPTY_RECORD).stamp
    const latest = [...own].map(stampOn).reduce(laterStamp)
    // A record that is later than those of all replicas is left for a repair.
    const isOld = (name: string) => compareStamps(stampOn(name), latest) <= 0
    for (const line of lines.filter(({ name }) => records.has(name) && !own.has(name) && isOld(name))) {
      await line.replace({ key, body: undefined }, records.get(line.name)!.version, view.epoch)
      dropped++
    }
    onProgress?.({ step: 'cleaning', key, keys: ++keys, changed: dropped })
  }
  return dropped
}
