/**
 * One look at what follows a slot. It asks all nodes, and ends as soon as a majority has answered and nothing is open. An open
 * entry is passed on: when one node has accepted it in a ballot, other nodes that have promised that ballot, and no other since,
 * may accept it as well; it is the proposer's own message, sent again. So a reader decides nothing new, and outbids no proposer.
 * If that does not help, a proposer is about to propose in a higher ballot: then the slot is contested, and must be read again.
 */
import { isSameBallot } from './ballot.js'
import { type DecidedSlots, decidedSlots, droppedTo, type Voters } from './decided-slots.js'
import type { AcceptAsk, Ask, Entry, NodeView, Reply } from './messages.js'

export type SlotReaderOutcome<Value> =
  | { readonly kind: 'seen'; readonly entries: readonly Entry<Value>[]; readonly isEnd: boolean }
  /** The slots that are certainly decided, and the slot after them, about which nothing can be said now. */
  | { readonly kind: 'contested'; readonly entries: readonly Entry<Value>[]; readonly slot: number }
  /** The slots that follow were decided, and dropped. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'lost' }

export interface Step<Value, Outcome> {
  readonly asks: readonly Ask<Value>[]
  readonly outcome?: Outcome
}

export class SlotReader<Value> {
  readonly #first: number
  readonly #voters: Voters
  readonly #views = new Map<number, NodeView<Value>>()
  readonly #pending = new Set<Ask<Value>>()
  #passing: { readonly found: DecidedSlots<Value>; have: number } | undefined
  #isOver = false

  constructor(first: number, voters: Voters) {
    this.#first = first
    this.#voters = voters
  }

  begin(): readonly Ask<Value>[] {
    for (let node = 0; node < this.#voters.nodes; node++) this.#pending.add({ kind: 'read', node, first: this.#first })
    return [...this.#pending]
  }

  /** A majority has answered: the caller need not wait long for the others. */
  get canProceed(): boolean {
    return !this.#isOver && this.#passing === undefined && this.#views.size >= this.#voters.majority
  }

  answer(ask: Ask<Value>, reply: Reply<Value>): Step<Value, SlotReaderOutcome<Value>> {
    // A second reply, or a reply to an earlier request, says nothing.
    if (!this.#pending.delete(ask) || this.#isOver) return NOTHING
    return ask.kind === 'accept' ? this.#passedOn(reply) : this.#answered(ask.node, reply)
  }

  /** Goes on without the nodes that have not answered yet. */
  proceed(): Step<Value, SlotReaderOutcome<Value>> {
    if (!this.canProceed) return NOTHING
    const found = this.#found()
    return found.open === undefined ? this.#seen(found) : this.#passOn(found)
  }

  /** An open entry of a dropped slot need not be what was decided: it may be left on a node that slept meanwhile. */
  #found(): DecidedSlots<Value> {
    const found = decidedSlots(this.#views, this.#first, this.#voters)
    if (found.open === undefined || found.open.slot > droppedTo(this.#views)) return found
    return { ...found, open: undefined, isEnd: false }
  }

  #seen({ entries, isEnd }: DecidedSlots<Value>): Step<Value, SlotReaderOutcome<Value>> {
    const isGone = entries.length === 0 && droppedTo(this.#views) >= this.#first
    return this.#end(isGone ? { kind: 'gone' } : { kind: 'seen', entries, isEnd })
  }

  #answered(node: number, reply: Reply<Value>): Step<Value, SlotReaderOutcome<Value>> {
    if (reply.kind === 'view' && reply.view.promised !== undefined) this.#views.set(node, reply.view)
    if (this.#views.size >= this.#voters.majority) {
      const found = this.#found()
      if (found.open === undefined) return this.#seen(found)
    }
    if (this.#pending.size > 0) return NOTHING
    return this.canProceed ? this.proceed() : this.#end({ kind: 'lost' })
  }

  #passOn(found: DecidedSlots<Value>): Step<Value, SlotReaderOutcome<Value>> {
    const { slot, accepted } = found.open!
    const asks: AcceptAsk<Value>[] = []
    let have = 0
    for (const [node, { promised, slots }] of this.#views) {
      const there = slots.get(slot)
      if (there !== undefined && isSameBallot(there.ballot, accepted.ballot)) have++
      else if (isSameBallot(promised!.ballot, accepted.ballot)) {
        asks.push({ kind: 'accept', node, version: promised!.version, slot, accepted })
      }
    }
    this.#passing = { found, have }
    this.#pending.clear()
    for (const ask of asks) this.#pending.add(ask)
    const over = this.#afterPassing()
    return over ?? { asks }
  }

  #passedOn(reply: Reply<Value>): Step<Value, SlotReaderOutcome<Value>> {
    if (reply.kind === 'done') this.#passing!.have++
    return this.#afterPassing() ?? NOTHING
  }

  #afterPassing(): Step<Value, SlotReaderOutcome<Value>> | undefined {
    const { found, have } = this.#passing!
    const { entries, open } = found
    if (have >= this.#voters.majority) {
      return this.#end({ kind: 'seen', entries: [...entries, open!.accepted.entry], isEnd: true })
    }
    if (have + this.#pending.size >= this.#voters.majority) return undefined
    return this.#end({ kind: 'contested', entries, slot: open!.slot })
  }

  #end(outcome: SlotReaderOutcome<Value>): Step<Value, SlotReaderOutcome<Value>> {
    this.#isOver = true
    return { asks: [], outcome }
  }
}

const NOTHING = { asks: [] }
