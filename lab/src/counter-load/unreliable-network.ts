/**
 * A network between clients and a server that does to requests what real ones do. Of some the request is lost, of some the
 * reply; some arrive twice; some arrive when their client has long sent them again, so that the second overtakes the first.
 * Whoever sent it learns of none of this: it has an answer, or it has none.
 */
import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { Random } from '../harness/random.js'

export interface Sent {
  readonly path: string
  readonly body: string
  readonly key?: string | undefined
}

export interface Reply {
  readonly status: number
  readonly body: string
  readonly isReplayed: boolean
}

const FATES = ['lostRequests', 'lostReplies', 'doubled', 'late'] as const
export type FateCounts = Record<(typeof FATES)[number], number>

/** So late is a copy at most that was held up. */
const LATE_MS_MAX = 400
const ANSWER_MS_MAX = 20_000

export class UnreliableNetwork {
  readonly #url: string
  readonly #random: Random
  readonly #faultShare: number
  readonly #agent: Agent
  readonly #stragglers = new Set<Promise<unknown>>()
  readonly counts: FateCounts = { lostRequests: 0, lostReplies: 0, doubled: 0, late: 0 }

  /** `faultShare` of the requests meet one of the four fates, each as likely as the others. */
  constructor(url: string, random: Random, { faultShare, sockets }: { faultShare: number; sockets: number }) {
    this.#url = url
    this.#random = random
    this.#faultShare = faultShare
    this.#agent = new Agent({ keepAlive: true, maxSockets: sockets })
  }

  /** Undefined: no answer came. */
  async send(sent: Sent): Promise<Reply | undefined> {
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

  /** Resolves when nothing is on its way any more. */
  async quiet(): Promise<void> {
    await Promise.all(this.#stragglers)
  }

  close(): void {
    this.#agent.destroy()
  }

  /** Half of them right behind the first, or beside it. */
  #deliverLater(sent: Sent): void {
    const lateMs = this.#random.float() < 0.5 ? 0 : this.#random.float() * LATE_MS_MAX
    const straggler = delay(lateMs).then(() => this.#deliver(sent))
    this.#stragglers.add(straggler)
    straggler.finally(() => this.#stragglers.delete(straggler))
  }

  #deliver({ path, body, key }: Sent): Promise<Reply | undefined> {
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...(key === undefined ? {} : { 'Idempotency-Key': key }),
    }
    return new Promise(resolve => {
      // The server may be killed at any time: that is no answer either.
      const none = () => resolve(undefined)
      const options = { method: 'POST', headers, agent: this.#agent, timeout: ANSWER_MS_MAX }
      const outgoing = request(this.#url + path, options, incoming => {
        let text = ''
        incoming.setEncoding('utf8').on('data', part => {
          text += part
        })
        incoming.once('error', none)
        incoming.once('end', () => {
          const isReplayed = incoming.headers['idempotency-replayed'] === 'true'
          if (incoming.complete) resolve({ status: incoming.statusCode!, body: text, isReplayed })
          else none()
        })
        incoming.once('close', none)
      })
      outgoing.once('error', none)
      outgoing.once('timeout', () => outgoing.destroy())
      outgoing.end(body)
    })
  }
}
