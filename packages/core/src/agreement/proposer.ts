/**
 * Appends to a log that several nodes remember, so that a slot never holds two things, even if other proposers append at the same
 * time and messages are lost, late or done twice. Paxos for each slot (Lamport 2001), with one promise for all slots that follow
 * ("multi-Paxos"); over nodes that are only read and written (`messages.ts`), as in "Active Disk Paxos" and "CASPaxos".
 *
 *     survey    reads from all nodes what they have promised
 *     promise   writes a higher ballot, if the promise is still the one that was read
 *     recall    reads the slots of the nodes that have promised: what they accepted before; from now on they refuse lower ballots
 *     accept    writes an entry to a slot, if the promise is still ours
 *
 * A proposer that has the promise of a majority, and goes on appending, needs only the last step: one round trip for each entry
 * (`Tenure`).
 *
 * Why a slot never holds two things: let e be decided in slot s in ballot b, that is, accepted by a majority Q. Any higher ballot
 * that proposes anything for s was promised by a majority, which has a node of Q in it. That node accepted e before it promised:
 * afterwards it would have refused b. After it has promised, the proposer asks it what it has accepted; so e, or what a ballot
 * between the two proposed, is recalled. The highest of the recalled entries is proposed, which by induction is e.
 *
 * This relies on:
 * - Within one ballot at most one entry is proposed for a slot. So a tenure ends with the first append whose outcome is not
 *   known, and a proposer that restarts has another name.
 * - A node does not forget. A node that did has no promise left, and no voice (`NodeView.promised`), until it has been given
 *   again what a majority of the others has (docs/decisions/0023).
 * - Only nodes that have promised, and were recalled, are asked to accept. Nodes that answer later are surveyed with the next
 *   ballot.
 * - A slot is dropped long after it was decided, and some node of every majority knows that it was (`NodeView.droppedTo`):
 *   nothing is proposed for it again, neither by a proposer that slept meanwhile, nor from an old entry of a node that slept as
 *   well.
 *
 * Only a proposer that knows what slot s holds proposes for slot s + 1. So there are no gaps, and all recalled slots except the
 * last are decided.
 */
import { type Ballot, compareBallots } from './ballot.js'
import { acceptedAt, droppedTo, highest, type Voters } from './decided-slots.js'
import { type Accepted, type Ask, type Entry, type NodeView, type Reply, SLOTS_PER_READ } from './messages.js'
import type { Step } from './slot-reader.js'

export type AppendOutcome =
  | { readonly kind: 'appended' }
  /** The log has reached this slot instead; maybe by this very entry, if it was proposed before. */
  | { readonly kind: 'taken'; readonly slot: number }
  /** Nothing is in the slot, and no entry was given. */
  | { readonly kind: 'free' }
  /** Another proposer is proposing. The entry may be appended all the same. */
  | { readonly kind: 'outbid' }
  /** There was no majority. The entry may be appended all the same. */
  | { readonly kind: 'lost' }

/** Lasts as long as no other proposer proposes. */
interface Tenure {
  readonly ballot: Ballot
  /** The versions of the promises, by node. */
  readonly promises: ReadonlyMap<number, number>
  /** The first empty slot. */
  readonly next: number
}

export interface ProposerOptions extends Voters {
  /** Unlike any other proposer's, including those from before a restart. */
  readonly name: string
}

export class Proposer<Value> {
  readonly #options: ProposerOptions
  #tenure: Tenure | undefined
  #round = 0
  #attempt: Attempt<Value> | undefined
  /**
   * Replies to other requests, and second replies, are ignored. Above all, a read from before a promise must not count as one
   * from after it.
   */
  readonly #pending = new Set<Ask<Value>>()

  constructor(options: ProposerOptions) {
    this.#options = options
  }

  get tenure(): Tenure | undefined {
    return this.#tenure
  }

  /** The number of nodes that have promised, and can be asked to accept. */
  get voices(): number {
    return this.#tenure?.promises.size ?? 0
  }

  /** One at a time: replies to an earlier attempt are ignored. Without an entry it only finishes what another has begun. */
  begin(slot: number, entry?: Entry<Value>): Step<Value, AppendOutcome> {
    if (entry !== undefined && this.#tenure?.next === slot) {
      return this.#propose({ slot, entry, tenure: this.#tenure, isOwn: true })
    }
    if (this.#tenure !== undefined && this.#tenure.next > slot && entry !== undefined) {
      return this.#over({ kind: 'taken', slot: this.#tenure.next - 1 })
    }
    this.#tenure = undefined
    this.#pending.clear()
    const { nodes } = this.#options
    this.#attempt = { phase: 'survey', slot, entry, views: new Map() }
    return this.#ask(Array.from({ length: nodes }, (_, node) => ({ kind: 'read', node, first: slot })))
  }

  /** A majority has answered: the caller need not wait long for the others. */
  get canProceed(): boolean {
    const attempt = this.#attempt
    if (attempt === undefined || attempt.phase === 'accept') return false
    return attempt.views.size >= this.#options.majority
  }

  /** Goes on without the nodes that have not answered yet. */
  proceed(): Step<Value, AppendOutcome> {
    if (!this.canProceed) return NOTHING
    const attempt = this.#attempt!
    if (attempt.phase === 'survey') return this.#promise(attempt)
    return attempt.phase === 'recall' ? this.#recalled(attempt) : NOTHING
  }

  answer(ask: Ask<Value>, reply: Reply<Value>): Step<Value, AppendOutcome> {
    const attempt = this.#attempt
    if (attempt === undefined || !this.#pending.delete(ask)) return NOTHING
    if (attempt.phase === 'accept') return this.#accepted(attempt, ask.node, reply)
    if (attempt.phase === 'recall' && ask.kind === 'promise') return this.#promised(attempt, ask.node, reply)
    return this.#viewed(attempt, ask.node, reply)
  }

  /** The caller no longer waits for the attempt: no outcome follows, and the next attempt begins from the start. */
  giveUp(): void {
    this.#attempt = undefined
    this.#tenure = undefined
    this.#pending.clear()
  }

  #viewed(attempt: Survey<Value> | Recall<Value>, node: number, reply: Reply<Value>): Step<Value, AppendOutcome> {
    if (reply.kind === 'view' && reply.view.promised !== undefined) attempt.views.set(node, reply.view)
    return this.#next(attempt)
  }

  #next(attempt: Survey<Value> | Recall<Value>): Step<Value, AppendOutcome> {
    if (this.#pending.size > 0) return NOTHING
    if (this.canProceed) return this.proceed()
    return this.#over({ kind: attempt.phase === 'recall' && attempt.isRefused ? 'outbid' : 'lost' })
  }

  #promise({ slot, entry, views }: Survey<Value>): Step<Value, AppendOutcome> {
    const rounds = Array.from(views.values(), ({ promised }) => promised!.ballot.round)
    this.#round = Math.max(this.#round, ...rounds) + 1
    const ballot = { round: this.#round, proposer: this.#options.name }
    this.#attempt = { phase: 'recall', slot, entry, ballot, views: new Map(), versions: new Map(), isRefused: false }
    this.#pending.clear()
    return this.#ask(
      Array.from(views, ([node, { promised }]) => ({ kind: 'promise', node, ballot, version: promised!.version })),
    )
  }

  #promised(attempt: Recall<Value>, node: number, reply: Reply<Value>): Step<Value, AppendOutcome> {
    if (reply.kind === 'done') {
      attempt.versions.set(node, reply.version)
      return this.#ask([{ kind: 'read', node, first: attempt.slot }])
    }
    if (reply.kind === 'refused') attempt.isRefused = true
    return this.#next(attempt)
  }

  /** A majority has promised, and has said what it accepted before. */
  #recalled({ slot, entry, ballot, views, versions }: Recall<Value>): Step<Value, AppendOutcome> {
    const promises = new Map(Array.from(views.keys(), node => [node, versions.get(node)!]))
    let free = slot
    while (acceptedAt(views, free).length > 0) free++
    const dropped = droppedTo(views)
    if (dropped >= Math.max(slot, free - 1)) return this.#over({ kind: 'taken', slot: dropped })
    if (free === slot) {
      this.#tenure = { ballot, promises, next: slot }
      return entry === undefined
        ? this.#over({ kind: 'free' })
        : this.#propose({ slot, entry, tenure: this.#tenure, isOwn: true })
    }
    const last = highest(acceptedAt(views, free - 1))!
    if (compareBallots(last.ballot, ballot) > 0) return this.#over({ kind: 'outbid' })
    // There may be more than was read.
    if (free - slot >= SLOTS_PER_READ) return this.#over({ kind: 'taken', slot: free - 1 })
    const tenure = { ballot, promises, next: free - 1 }
    return this.#propose({ slot: free - 1, entry: last.entry, tenure, isOwn: last.entry.id === entry?.id })
  }

  #propose({ slot, entry, tenure, isOwn }: Proposal<Value>): Step<Value, AppendOutcome> {
    // No tenure until the outcome is known: nothing else may be proposed for this slot in this ballot.
    this.#tenure = undefined
    const accepted: Accepted<Value> = { ballot: tenure.ballot, entry }
    this.#attempt = { phase: 'accept', slot, tenure, isOwn, have: new Set(), gone: new Set(), isRefused: false }
    this.#pending.clear()
    return this.#ask(
      Array.from(tenure.promises, ([node, version]) => ({ kind: 'accept', node, version, slot, accepted })),
    )
  }

  #accepted(attempt: Accepting, node: number, reply: Reply<Value>): Step<Value, AppendOutcome> {
    const { slot, tenure, isOwn, have, gone } = attempt
    if (reply.kind === 'done') have.add(node)
    else gone.add(node)
    if (reply.kind === 'refused') attempt.isRefused = true
    const { majority } = this.#options
    if (have.size >= majority) {
      // A node that has refused has promised another ballot: it is not asked again in this ballot.
      const promises = new Map([...tenure.promises].filter(([each]) => !gone.has(each)))
      this.#tenure = { ...tenure, promises, next: slot + 1 }
      return this.#over(isOwn ? { kind: 'appended' } : { kind: 'taken', slot })
    }
    if (tenure.promises.size - gone.size >= majority) return NOTHING
    return this.#over({ kind: attempt.isRefused ? 'outbid' : 'lost' })
  }

  #over(outcome: AppendOutcome): Step<Value, AppendOutcome> {
    this.#attempt = undefined
    this.#pending.clear()
    return { asks: [], outcome }
  }

  #ask(asks: readonly Ask<Value>[]): Step<Value, AppendOutcome> {
    for (const ask of asks) this.#pending.add(ask)
    return { asks }
  }
}

interface Survey<Value> {
  readonly phase: 'survey'
  readonly slot: number
  readonly entry: Entry<Value> | undefined
  readonly views: Map<number, NodeView<Value>>
}

interface Recall<Value> {
  readonly phase: 'recall'
  readonly slot: number
  readonly entry: Entry<Value> | undefined
  readonly ballot: Ballot
  /** Of the nodes that have promised; read after the promise. */
  readonly views: Map<number, NodeView<Value>>
  readonly versions: Map<number, number>
  isRefused: boolean
}

interface Accepting {
  readonly phase: 'accept'
  readonly slot: number
  readonly tenure: Tenure
  readonly isOwn: boolean
  readonly have: Set<number>
  readonly gone: Set<number>
  isRefused: boolean
}

type Attempt<Value> = Survey<Value> | Recall<Value> | Accepting

interface Proposal<Value> {
  readonly slot: number
  readonly entry: Entry<Value>
  readonly tenure: Tenure
  /** Whether it is the entry that the caller wants to append. */
  readonly isOwn: boolean
}

const NOTHING = { asks: [] }
