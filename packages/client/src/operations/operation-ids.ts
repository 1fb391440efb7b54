/**
 * The ids of this client's writes, so that each takes effect once, however often it is sent: the header `Idempotency-Key`, in the
 * format that `protocol/src/operations/operation-id.ts` draws.
 *
 * Invariant: `settledTo` never passes an operation that may still be sent again. The server forgets settled operations, so it
 * would refuse a retry of one, and the caller would never get its result.
 *
 * One unanswered operation holds up `settledTo` while others proceed, and the server has to remember all of them, which it does
 * not do without limit. Then the next operations start a line of their own, under another client name.
 */

import type { ServerClock } from '@freshet/core/clock'
import { formatOperationId } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import { createNonce } from '../http/nonce.js'

export interface Operation {
  /** Unique, and the same each time it is sent. */
  readonly name: string
  /** The present value of the header. */
  readonly key: string
  /** Call this when the operation was answered or given up: it is never sent again. */
  settle(): void
  /** Makes it count as begun now. Only for operations that were refused as made in the future: they cannot have been done. */
  renew(): void
}

/** A server accepts 4096. */
const UNSETTLED_MAX = 1024

export class OperationIds {
  readonly #clock: Clock
  readonly #serverClock: ServerClock
  #line = new Line()

  constructor(clock: Clock, serverClock: ServerClock) {
    this.#clock = clock
    this.#serverClock = serverClock
  }

  begin(): Operation {
    if (this.#line.last - this.#line.settledTo >= UNSETTLED_MAX) this.beginLine()
    const line = this.#line
    const { client } = line
    const sequence = ++line.last
    let madeMs = this.nowMs()
    return {
      name: `${client}.${sequence}`,
      get key() {
        return formatOperationId({ kind: 'own', client, sequence, settledTo: line.settledTo, madeMs })
      },
      settle: () => line.settle(sequence),
      renew: () => {
        madeMs = this.nowMs()
      },
    }
  }

  /** Starts a new line: operations of the old one may stay unsettled for long. */
  beginLine(): void {
    this.#line = new Line()
  }

  /** The server's time in whole milliseconds. */
  nowMs(): number {
    return Math.floor(this.#serverClock.nowMs(this.#clock()))
  }
}

class Line {
  /** Random, so that no two pages or processes have the same name, whatever they share. */
  readonly client: string = createNonce() + createNonce()
  last = 0
  settledTo = 0
  readonly #settled = new Set<number>()

  settle(sequence: number): void {
    this.#settled.add(sequence)
    while (this.#settled.delete(this.settledTo + 1)) this.settledTo++
  }
}
