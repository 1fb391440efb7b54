/**
 * A network between clients and a server with the faults of real networks. It loses some requests and some replies. Some
 * requests arrive twice; some arrive long after their client has resent them, so that the second overtakes the first. The sender
 * learns of none of this: it gets an answer, or none.
 */
import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../harness/random.js'
import { requestText, type TextReply } from './request-text.js'

export interface Sent {
  readonly path: string
  readonly body: string
  readonly key?: string | undefined
}

const FATES = ['lostRequests', 'lostReplies', 'doubled', 'late'] as const
export type FateCounts = Record<(typeof FATES)[number], number>

/** The largest delay of a delayed copy. */
const LATE_MS_MAX = 400
const ANSWER_MS_MAX = 20_000

export class UnreliableNetwork {
  readonly #url: string
  readonly #random: Random
  readonly #faultShare: number
  readonly #agent: Agent
  readonly #stragglers = new Set<Promise<unknown>>()
  readonly counts: FateCounts = { lostRequests: 0, lostReplies: 0, doubled: 0, late: 0 }

  /** `faultShare` of the requests meet one of the four faults, each equally likely. */
  constructor(url: string, random: Random, { faultShare, sockets }: { faultShare: number; sockets: number }) {
    this.#url = url
    this.#random = random
    this.#faultShare = faultShare
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets })
  }

  /** Undefined: no answer came. */
  async send(sent: Sent): Promise<TextReply | undefined> {
    const fate = this.#random.float() < this.#faultShare ? this.#random.pick(FATES) : undefined
    if (fate !== undefined) this.counts[fate]++
    switch (fate) {
      case undefined:
        return this.#deliver(sent)
      case 'lostRequests':
        return undefined
      case 'lostReplies':
        await this.#deliver(sent)
        return undefined
      case 'doubled':
        this.#deliverLater(sent)
        return this.#deliver(sent)
      case 'late':
        this.#deliverLater(sent)
        return undefined
    }
  }

  /** Resolves when nothing is on its way. */
  async quiet(): Promise<void> {
    await Promise.all(this.#stragglers)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Half of them right after the first, or beside it. */
  #deliverLater(sent: Sent): void {
    const lateMs = this.#random.float() < 0.5 ? 0 : this.#random.float() * LATE_MS_MAX
    const straggler = delay(lateMs).then(() => this.#deliver(sent))
    this.#stragglers.add(straggler)
    straggler.finally(() => this.#stragglers.delete(straggler))
  }

  /** The server may be killed at any time; then no answer comes either. */
  #deliver({ path, body, key }: Sent): Promise<TextReply | undefined> {
    const headers = key === undefined ? {} : { 'Idempotency-Key': key }
    const options = { method: 'POST', headers, agent: this.#agent, timeout: ANSWER_MS_MAX }
    return requestText(this.#url + path, options, body).catch(() => undefined)
  }
}
