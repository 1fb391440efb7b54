/**
 * Where commits wait for leases to end, in the one process that writes a store; the commits of workers come through it too,
 * with the leases that they request. `core/transactions` decides who may lease what; the clock and the timer are here.
 *
 * While nothing is leased, a commit that requests no lease need not come here.
 */
import { randomUUID } from 'node:crypto'
import type { CommitResult, Key, LeaseAsk } from '@freshet/core/store'
import { LeaseQueue, type Outcome, type Ticket } from '@freshet/core/transactions'

/** A thousand of each: more would not help those who wait. */
const LIMITS = { leasesMax: 1000, waitingMax: 1000, waitMsMax: 5_000 }

export interface GatedCommit {
  readonly writes: readonly { readonly key: Key }[]
  readonly lease?: LeaseAsk | undefined
}

export class CommitGate {
  readonly #queue = new LeaseQueue(LIMITS)
  readonly #nowMs: () => number
  readonly #waiting = new Map<string, (outcome: Outcome) => void>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** If true, the commit need not call `pass`. */
  isOpenTo(commit: GatedCommit): boolean {
    return commit.lease === undefined && this.#queue.isIdle
  }

  /** `attempt` validates and writes; it is called once. */
  async pass({ writes, lease }: GatedCommit, attempt: () => Promise<CommitResult>): Promise<CommitResult> {
    const beganMs = this.#nowMs()
    const held = lease?.id === undefined ? undefined : this.#queue.use(lease.id, beganMs)
    const order = held?.order ?? this.#queue.nextOrder()
    const keys = writes.map(({ key }) => key)
    try {
      if (held === undefined) await this.#wait({ id: randomUUID(), order, keys, leaseMs: undefined })
      const result = await attempt()
      const wanted = lease === undefined ? [] : leasable(result, keys, lease, held)
      if (result.committed || lease?.ms === undefined || wanted.length === 0) return result
      const ticket: Ticket = { id: randomUUID(), order, keys: wanted, leaseMs: lease.ms }
      const outcome = this.#wait(ticket)
      // Ended only after the new ticket has joined the queue, which makes this client the first to get its own keys again.
      this.#end(held)
      if ((await outcome) !== 'leased') return result
      const granted = { id: ticket.id, ms: lease.ms, waitedMs: Math.round(this.#nowMs() - beganMs), keys: wanted }
      return { ...result, lease: granted }
    } finally {
      this.#end(held)
    }
  }

  /** All waits end. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    for (const resolve of this.#waiting.values()) resolve('late')
    this.#waiting.clear()
  }

  async #wait(ticket: Ticket): Promise<Outcome> {
    if (this.#isClosed || ticket.keys.length === 0) return 'late'
    if (!this.#queue.join(ticket, this.#nowMs())) return 'late'
    const outcome = new Promise<Outcome>(resolve => this.#waiting.set(ticket.id, resolve))
    this.#advance()
    return outcome
  }

  #end(held: Ticket | undefined): void {
    if (held === undefined) return
    this.#queue.end(held.id)
    this.#advance()
  }

  #advance(): void {
    for (const { id, outcome } of this.#queue.advance(this.#nowMs())) {
      this.#waiting.get(id)?.(outcome)
      this.#waiting.delete(id)
    }
    clearTimeout(this.#timer)
    const { wakeAtMs } = this.#queue
    if (wakeAtMs === undefined || this.#isClosed) return
    this.#timer = setTimeout(() => this.#advance(), Math.max(1, wakeAtMs - this.#nowMs())).unref()
  }
}

/** The keys to lease, if any key of the request had changed: those, its keys that the commit writes, and keys already held. */
function leasable(result: CommitResult, written: readonly Key[], ask: LeaseAsk, held: Ticket | undefined): Key[] {
  const among = new Set(ask.keys)
  const changed = result.committed ? [] : result.conflicts.map(({ key }) => key).filter(key => among.has(key))
  if (changed.length === 0) return []
  return [...new Set([...changed, ...written.filter(key => among.has(key)), ...(held?.keys ?? [])])]
}
