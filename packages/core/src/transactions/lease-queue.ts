/**
 * Leases: which transaction may write a few contended keys next. Optimistic transactions that all change one key mostly
 * abort each other. A refused one may therefore lease its keys for a moment, and others that would write them wait (hybrid
 * concurrency control, which the thesis of Gessert and Bücklers names as future work in its section 3.1.4).
 *
 * A lease is a hint. Every commit is validated as usual; a queue that is lost in a crash, a lease that ends too early or a
 * commit that overtakes a lease costs a retry and never correctness. So everything here is bounded, and a ticket that
 * exceeds a bound goes on without a lease.
 *
 * Invariants:
 * - Of two tickets that have a key in common, the one with the lower order goes first (first come, first served).
 * - No two leases have a key in common, and no waiting ticket is let through to a key that is leased.
 * - A ticket takes all its keys at once or none, and a holder is never made to wait: there is no deadlock to break.
 * - No ticket waits for longer than `waitMsMax`.
 */
import type { Key } from '../store/store.js'

export interface Ticket {
  /** Unique and unguessable: showing it proves that the caller holds the lease. */
  readonly id: string
  /** The lower order came first. A holder that asks for more keys keeps its order. */
  readonly order: number
  readonly keys: readonly Key[]
  /** How long to lease the keys; undefined if the ticket only waits to be let through. */
  readonly leaseMs: number | undefined
}

/** 'through': its keys are not leased to others. 'leased': it holds them now. 'late': it has waited as long as it may. */
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

  /** There are no leases and no waiting tickets. */
  get isIdle(): boolean {
    return this.#leases.size === 0 && this.#waiting.length === 0
  }

  nextOrder(): number {
    return ++this.#lastOrder
  }

  /** False if too many wait already: then the ticket must go on as if there were no leases. */
  join(ticket: Ticket, nowMs: number): boolean {
    if (this.#waiting.length >= this.#limits.waitingMax) return false
    const at = this.#waiting.findLastIndex(other => other.ticket.order <= ticket.order)
    this.#waiting.splice(at + 1, 0, { ticket, untilMs: nowMs + this.#limits.waitMsMax })
    return true
  }

  /** The holder has come back: the lease lasts until `end`. Undefined if there is no such lease, or it has ended. */
  use(id: string, nowMs: number): Ticket | undefined {
    const lease = this.#leases.get(id)
    if (lease === undefined || lease.endsAtMs <= nowMs) return undefined
    lease.endsAtMs = Number.POSITIVE_INFINITY
    return lease.ticket
  }

  end(id: string): void {
    this.#leases.delete(id)
  }

  /** The tickets that no longer wait, in their order. */
  advance(nowMs: number): Step[] {
    for (const [id, { endsAtMs }] of this.#leases) if (endsAtMs <= nowMs) this.#leases.delete(id)
    const taken = new Set([...this.#leases.values()].flatMap(({ ticket }) => ticket.keys))
    const steps: Step[] = []
    this.#waiting = this.#waiting.filter(({ ticket, untilMs }) => {
      const outcome = this.#outcomeOf(ticket, untilMs, taken, nowMs)
      if (outcome !== undefined) steps.push({ id: ticket.id, outcome })
      // A later ticket has to wait for this one, whether this one goes on with a lease or waits itself.
      if (outcome === undefined || outcome === 'leased') for (const key of ticket.keys) taken.add(key)
      return outcome === undefined
    })
    return steps
  }

  /** When `advance` has something to do even if nothing else happens before; undefined if never. */
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
