/**
 * Leases: who may write a few contended keys next. Optimistic transactions that all change one key mostly abort each other;
 * one that was refused may therefore have its keys leased for a moment, and others that would write them wait (hybrid
 * concurrency control, which the thesis of Gessert and Bücklers names as future work in its section 3.1.4).
 *
 * A lease is a hint. Whoever comes is validated as ever; a queue that is lost in a crash, a lease that ends too early or a
 * commit that overtakes one costs a retry and never correctness. So everything here is bounded, and who is out of bounds
 * goes on without a lease.
 *
 * Invariants:
 * - Of two tickets that have a key in common, the one with the lower order goes first (first come, first served).
 * - No two leases have a key in common, and nobody who waits is let through to a key that is leased.
 * - A ticket takes all its keys at once or none, and a holder is never made to wait: there is no deadlock to break.
 * - Nobody waits for longer than `waitMsMax`.
 */
import type { Key } from '../store/store.js'

export interface Ticket {
  /** Unique, and not to be guessed: who shows it holds the lease. */
  readonly id: string
  /** Who has the lower one came first. One that asks again for more keeps its own. */
  readonly order: number
  readonly keys: readonly Key[]
  /** How long it is to have the keys; undefined if it is only to be let through. */
  readonly leaseMs: number | undefined
}

/** 'through': nobody else is leased its keys. 'leased': it has them now. 'late': it has waited as long as one may. */
export type Outcome = 'through' | 'leased' | 'late'

export interface Step {
  readonly id: string
  readonly outcome: Outcome
}

export interface LeaseQueueLimits {
  readonly leasesMax: number
  readonly waitingMax: number
  readonly waitMsMax: number
}

interface Waiting {
  readonly ticket: Ticket
  readonly untilMs: number
}

interface Lease {
  readonly ticket: Ticket
  /** Infinity while its holder's commit is under way. */
  endsAtMs: number
}

export class LeaseQueue {
  readonly #limits: LeaseQueueLimits
  readonly #leases = new Map<string, Lease>()
  /** By order. */
  #waiting: Waiting[] = []
  #lastOrder = 0

  constructor(limits: LeaseQueueLimits) {
    this.#limits = limits
  }

  /** Nobody holds anything, and nobody waits. */
  get isIdle(): boolean {
    return this.#leases.size === 0 && this.#waiting.length === 0
  }

  nextOrder(): number {
    return ++this.#lastOrder
  }

  /** False if too many wait already: then it must go on as if there were no leases. */
  join(ticket: Ticket, nowMs: number): boolean {
    if (this.#waiting.length >= this.#limits.waitingMax) return false
    const at = this.#waiting.findLastIndex(other => other.ticket.order <= ticket.order)
    this.#waiting.splice(at + 1, 0, { ticket, untilMs: nowMs + this.#limits.waitMsMax })
    return true
  }

  /** The holder has come back: until `end`, the lease lasts. Undefined if there is none, or none any more. */
  use(id: string, nowMs: number): Ticket | undefined {
    const lease = this.#leases.get(id)
    if (lease === undefined || lease.endsAtMs <= nowMs) return undefined
    lease.endsAtMs = Number.POSITIVE_INFINITY
    return lease.ticket
  }

  end(id: string): void {
    this.#leases.delete(id)
  }

  /** Who waits no longer, in their order. */
  advance(nowMs: number): Step[] {
    for (const [id, { endsAtMs }] of this.#leases) if (endsAtMs <= nowMs) this.#leases.delete(id)
    const taken = new Set([...this.#leases.values()].flatMap(({ ticket }) => ticket.keys))
    const steps: Step[] = []
    this.#waiting = this.#waiting.filter(({ ticket, untilMs }) => {
      const outcome = this.#outcomeOf(ticket, untilMs, taken, nowMs)
      if (outcome !== undefined) steps.push({ id: ticket.id, outcome })
      // Who came later has to wait for this one, whether it goes on with a lease or waits itself.
      if (outcome === undefined || outcome === 'leased') for (const key of ticket.keys) taken.add(key)
      return outcome === undefined
    })
    return steps
  }

  /** When `advance` has something to do even if nothing happens until then; undefined if never. */
  get wakeAtMs(): number | undefined {
    const times = [
      ...[...this.#leases.values()].map(lease => lease.endsAtMs),
      ...this.#waiting.map(each => each.untilMs),
    ]
    const next = Math.min(...times)
    return Number.isFinite(next) ? next : undefined
  }

  #outcomeOf(ticket: Ticket, untilMs: number, taken: ReadonlySet<Key>, nowMs: number): Outcome | undefined {
    const { id, keys, leaseMs } = ticket
    if (keys.some(key => taken.has(key))) return untilMs <= nowMs ? 'late' : undefined
    if (leaseMs === undefined) return 'through'
    if (this.#leases.size >= this.#limits.leasesMax) return 'late'
    this.#leases.set(id, { ticket, endsAtMs: nowMs + leaseMs })
    return 'leased'
  }
}
