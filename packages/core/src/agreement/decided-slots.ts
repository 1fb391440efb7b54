/**
 * Which slots of the log are decided, judging by what some nodes have. An entry is decided when a majority has accepted it in the
 * same ballot. From then on every later ballot has the same entry (that is what Paxos is for), so it stays decided.
 *
 * - A proposer of an entry for slot s + 1 knows what slot s holds, and names it. So everything below the last slot is
 *   known from that.
 * - The last slot is known if a majority of nodes has it in one ballot.
 * - It is known not to have been decided before the nodes were asked, if no majority can have it, in whichever ballots, with
 *   silent nodes counted as if they had it. Counting by ballot would be wrong: a node that has accepted the entry again, in a
 *   higher ballot, has forgotten the first one.
 * - Otherwise it is open.
 */
import { compareBallots, isSameBallot } from './ballot.js'
import { type Accepted, type Entry, type NodeView, SLOTS_PER_READ } from './messages.js'

export interface DecidedSlots<Value> {
  /** In order, from the first slot asked for. */
  readonly entries: readonly Entry<Value>[]
  /** The slot after those, if it may have been decided, with its entry of the highest ballot. */
  readonly open: { readonly slot: number; readonly accepted: Accepted<Value> } | undefined
  /** Nothing follows. If false, there may be more than was read. */
  readonly isEnd: boolean
}

export interface Voters {
  /** How many nodes there are, whether they answer or not. */
  readonly nodes: number
  readonly majority: number
}

/** Judges by the views of at least a majority of nodes. */
export function decidedSlots<Value>(
  views: ReadonlyMap<number, NodeView<Value>>,
  first: number,
  { nodes, majority }: Voters,
): DecidedSlots<Value> {
  const entries: Entry<Value>[] = []
  for (let slot = first; ; slot++) {
    const here = acceptedAt(views, slot)
    const top = highest(here)
    if (top === undefined) return { entries, open: undefined, isEnd: slot < first + SLOTS_PER_READ }
    const [next] = acceptedAt(views, slot + 1)
    const decided =
      next === undefined
        ? here.filter(({ ballot }) => isSameBallot(ballot, top.ballot)).length >= majority && top
        : here.find(({ entry }) => entry.id === next.entry.previous)
    if (!decided) {
      // The next slot would decide it, but was not read.
      if (slot === first + SLOTS_PER_READ - 1) return { entries, open: undefined, isEnd: false }
      const most = Math.max(...here.map(({ entry: { id } }) => here.filter(({ entry }) => entry.id === id).length))
      const canBe = most + nodes - views.size >= majority
      return { entries, open: canBe ? { slot, accepted: top } : undefined, isEnd: true }
    }
    entries.push(decided.entry)
  }
}

export function acceptedAt<Value>(views: ReadonlyMap<number, NodeView<Value>>, slot: number): Accepted<Value>[] {
  const found: Accepted<Value>[] = []
  for (const { slots } of views.values()) {
    const accepted = slots.get(slot)
    if (accepted !== undefined) found.push(accepted)
  }
  return found
}

/** Slots up to here were decided; what a node still has of them need not be what was decided. */
export function droppedTo<Value>(views: ReadonlyMap<number, NodeView<Value>>): number {
  return Math.max(-1, ...Array.from(views.values(), view => view.droppedTo))
}

export function highest<Value>(accepted: readonly Accepted<Value>[]): Accepted<Value> | undefined {
  let top: Accepted<Value> | undefined
  for (const each of accepted) {
    if (top === undefined || compareBallots(each.ballot, top.ballot) > 0) top = each
  }
  return top
}
