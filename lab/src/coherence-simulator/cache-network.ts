/**
 * The connections between readers, caches and servers. Messages take time, sometimes long, overtake one another, and replies are
 * lost. A requester whose reply is lost gives up after the longest time that an answer may take.
 */
import type { Path } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import type { EventQueue } from '../simulator/event-queue.js'
import { Network } from '../simulator/network.js'
import type { Mix } from './mix.js'
import type { Done, Request, Upstream } from './wire.js'

export class CacheNetwork extends Network<never> {
  readonly #queue: EventQueue
  readonly #responseMsMax: number

  constructor(queue: EventQueue, random: Random, { responseMsMax, lossRate, slowRate }: Mix) {
    super({
      ...{ queue, random, rates: { lost: lossRate, late: slowRate, doubled: 0 } },
      delayMs: () => 1 + 9 * random.float(),
      lateMs: () => random.float() * (responseMsMax - 10),
    })
    this.#queue = queue
    this.#responseMsMax = responseMsMax
  }

  to(far: Upstream): Upstream {
    return {
      fetch: (request, done) => this.#carry(far, request, done),
      passWrite: (path: Path) => far.passWrite(path),
    }
  }

  #carry(far: Upstream, request: Request, done: Done): void {
    const queue = this.#queue
    queue.after(this.delayMs(), () => {
      far.fetch(request, reply => {
        if (this.isLost()) queue.after(this.#responseMsMax, () => done(undefined))
        else queue.after(this.delayMs(), () => done(reply))
      })
    })
  }
}
