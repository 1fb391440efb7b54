/**
 * What this client's writes are known by, so that each takes effect once, however often it is sent: the header
 * `Idempotency-Key`, of the form that `protocol/src/operations/operation-id.ts` draws.
 *
 * Invariant: `settledTo` never passes an operation that may still be sent again. The server forgets what is settled, so a
 * retry of it would be refused, and its caller never told what came of it.
 *
 * One operation that is not answered holds up `settledTo` while others go on, and the server has to remember all of them,
 * which it does not do without limit. Then the next ones begin a line of their own, under another name.
 */

import type { ServerClock } from '@freshet/core/clock'
import { formatOperationId } from '@freshet/protocol'
import type { Clock } from '../clock/pessimistic-clock.js'
import { createNonce } from '../http/nonce.js'

export interface Operation {
  /** Unique, and the same each time it is sent. */
  readonly name: string
  /** The value of the header, as it is to be sent now. */
  readonly key: string
  /** It was answered or is given up: it is never sent again. */
  settle(): void
  /** It counts as begun now. Only for what was refused as made in the future: such a one cannot have been done. */
  renew(): void
}

/** A server takes 4096. */
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

  /** Something of the old one may stay unsettled for long. */
  beginLine(): void {
    this.#line = new Line()
  }

  /** By the server's clock, whole. */
  nowMs(): number {
    return Math.floor(this.#serverClock.nowMs(this.#clock()))
  }
}

class Line {
  /** At random, so that no two pages or processes have the same, whatever they share. */
  readonly client: string = createNonce() + createNonce()
  last = 0
  settledTo = 0
  readonly #settled = new Set<number>()

  settle(sequence: number): void {
    this.#settled.add(sequence)
    while (this.#settled.delete(this.settledTo + 1)) this.settledTo++
  }
}
