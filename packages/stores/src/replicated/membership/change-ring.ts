/**
 * Nodes join the ring and leave it, while it is used. In between there are two rings, and an operation needs enough of the replicas
 * by either (`RingState.before`): so whatever is done has a replica in common with all that was done before, and with all that
 * is done after. (As Raft's joint consensus, Ongaro and Ousterhout 2014, section 6.)
 *
 * 1. The ring with both is decided on, and put into effect on the nodes: from then on nobody writes by the old one alone.
 * 2. What has other replicas by the new ring is moved: of each key, from a majority of its old replicas, the latest cell and the
 *    highest tenure, to a majority of the new ones. Hints that lie on a node that leaves are moved too.
 * 3. The new ring alone is decided on.
 * 4. Nodes drop what is not theirs any more. What is left on one that is away is dropped by a repair or a collection of tombstones:
 *    as long as it is there no tombstone of its key is collected, else it might come back, years later, when it is its again.
 *
 * If it is cut short it is said again, and goes on. Who has looked at one ring decides on none after another: the `before` of a
 * change that somebody else has begun meanwhile would be gone before its records are moved.
 */
import { type CellRecord, compareStamps, EMPTY_RECORD, isEnough, laterStamp, merged } from '@freshet/core/cells'
import type { Key } from '@freshet/core/store'
import { FreshetError } from '@freshet/protocol'
import { allRecords, bucketsOn, type FoundRecords } from '../cells/all-records.js'
import type { Cells } from '../cells/cells.js'
import { type NodeLine, RingChanged } from '../cells/node-line.js'
import { ringUnusable } from '../cells/refusals.js'
import type { RingView } from '../cells/ring-view.js'
import { createPlacement } from '../ring/placement.js'
import type { RingNode, RingState } from '../ring/ring-state.js'
import { decideRing, settleRing } from './decide-ring.js'

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
  /** The node does not come back: what it alone was given, at ONE or ANY, is lost. Else it must answer. */
  readonly isLost?: boolean
}

export interface ChangeReport {
  readonly epoch: number
  readonly keys: number
  readonly moved: number
  readonly dropped: number
}

/** Throws RING_UNUSABLE if the node is not empty, or another change is under way. */
export async function joinRing(cells: Cells, node: RingNode, options: ChangeOptions = {}): Promise<ChangeReport> {
  return unlessChanged(async () => {
    const ring = await settleRing(cells)
    if (ring.before === undefined) {
      if (ring.nodes.some(({ name }) => name === node.name)) throw ringUnusable(`${node.name} belongs to it already`)
      await checkEmpty(cells.lineTo(node), ring)
      const wanted: RingState = { ...ring, nodes: [...ring.nodes, node], before: ring.nodes }
      // It must know the ring before it is asked for anything. If that comes to nothing it is an empty node with a ring, below all that
      // were decided on: who finds it there first must not take it for one of them.
      await cells.lineTo(node).install({ ...wanted, epoch: 0 }, 0)
      await decideRing(cells, after(ring, wanted))
    } else if (!isJoining(ring, node.name)) throw ringUnusable('another change of it is under way; finish that first')
    return finishChange(cells, options)
  })
}

/** A majority of the replicas of every key must be there. Throws RING_UNUSABLE if there is no such node, or another change is under way. */
export async function leaveRing(cells: Cells, name: string, options: LeaveOptions = {}): Promise<ChangeReport> {
  return unlessChanged(async () => {
    const ring = await settleRing(cells)
    if (ring.before === undefined) {
      const node = ring.nodes.find(each => each.name === name)
      if (node === undefined) throw ringUnusable(`there is no node ${name} in it`)
      if (!options.isLost) await checkThere(cells.lineTo(node), ring)
      const wanted = { ...ring, nodes: ring.nodes.filter(each => each.name !== name), before: ring.nodes }
      await decideRing(cells, after(ring, wanted))
    } else if (!isLeaving(ring, name)) throw ringUnusable('another change of it is under way; finish that first')
    return finishChange(cells, options)
  })
}

/** After the ring that was looked at, and no other. */
function after(ring: RingState, wanted: RingState): (now: RingState) => RingState {
  return now => {
    if (now.epoch !== ring.epoch) throw new RingChanged()
    return wanted
  }
}

/** Somebody else has gone on with it meanwhile. */
async function unlessChanged<Result>(change: () => Promise<Result>): Promise<Result> {
  try {
    return await change()
  } catch (error) {
    if (!(error instanceof RingChanged)) throw error
    const what = 'Somebody else has changed the ring meanwhile. See what it is now, and say it again.'
    throw new FreshetError('RING_UNAVAILABLE', what, { cause: error, details: { outcome: 'unknown' } })
  }
}

export function isJoining({ nodes, before = nodes }: RingState, name: string): boolean {
  return nodes.some(node => node.name === name) && !before.some(node => node.name === name)
}

export function isLeaving({ nodes, before = nodes }: RingState, name: string): boolean {
  return before.some(node => node.name === name) && !nodes.some(node => node.name === name)
}

async function checkEmpty(line: NodeLine, ring: RingState): Promise<void> {
  const own = await line.readRing()
  // From an attempt that came to nothing: then it is as empty as it was.
  const isOurs = own?.ring.secret === ring.secret && own.ring.epoch <= ring.epoch
  const isOfAttempt = isOurs && isJoining(own.ring, line.name)
  if (own !== undefined && !isOfAttempt) {
    throw ringUnusable(`node ${line.name} was in a ring before; empty it first, for what it has may be old`)
  }
  const buckets = await bucketsOn([line])
  if (buckets.length > 0) throw ringUnusable(`node ${line.name} is not empty: it has ${buckets.slice(0, 3).join(', ')}`)
}

async function checkThere(line: NodeLine, { epoch }: RingState): Promise<void> {
  try {
    await line.check(epoch)
  } catch (error) {
    throw error instanceof RingChanged ? error : silent(line.name, error)
  }
}

function silent(name: string, cause?: unknown): FreshetError {
  return new FreshetError(
    'RING_UNAVAILABLE',
    `${name} does not answer, so that nobody knows what it alone was given at ONE or ANY. Start it; or, if it is lost, and that with it, say so: ` +
      `freshet ring leave ${name} --lost`,
    { cause, details: { outcome: 'not-done' } },
  )
}

async function finishChange(cells: Cells, options: LeaveOptions): Promise<ChangeReport> {
  const { ring } = cells
  const { before, ...alone } = ring
  // Somebody else has finished it.
  if (before === undefined) throw new RingChanged()
  const { keys, moved } = await moveRecords(cells, options)
  const { epoch } = await decideRing(cells, after(ring, alone))
  // Those that have left are told too, if they answer: else somebody who has not heard of it could still write to them.
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
  // From here on nobody writes to it by the old ring, unseen.
  const unseen = isLost ? undefined : missing.find(name => isLeaving(view.ring, name))
  if (unseen !== undefined) throw silent(unseen)
  const sets = createPlacement(view.ring.before!, view.ring).ranges()
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

/** The nodes that answer, all of which have the ring in effect by now. */
async function reachable(cells: Cells): Promise<[lines: readonly NodeLine[], missing: readonly string[]]> {
  const all = cells.view.allLines()
  const results = await Promise.allSettled(all.map(line => line.check(cells.view.epoch)))
  const lines = all.filter((_, i) => results[i]!.status === 'fulfilled')
  return [lines, all.filter(line => !lines.includes(line)).map(({ name }) => name)]
}

async function moveKey({ key, records }: FoundRecords, view: RingView): Promise<boolean> {
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
    `${key} could not be moved to a majority of ${now.join(', ')}. Say it again.`,
    {
      details: { outcome: 'unknown' },
    },
  )
}

async function moveHints(cells: Cells, lines: readonly NodeLine[]): Promise<void> {
  const { view } = cells
  for (const line of lines.filter(({ name }) => isLeaving(view.ring, name))) {
    const others = lines.filter(each => each !== line && !isLeaving(view.ring, each.name))
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
    // What is later than all that the replicas have is left for a repair.
    const isOld = (name: string) => compareStamps(stampOn(name), latest) <= 0
    for (const line of lines.filter(({ name }) => records.has(name) && !own.has(name) && isOld(name))) {
      await line.replace({ key, body: undefined }, records.get(line.name)!.version, view.epoch)
      dropped++
    }
    onProgress?.({ step: 'cleaning', key, keys: ++keys, changed: dropped })
  }
  return dropped
}
