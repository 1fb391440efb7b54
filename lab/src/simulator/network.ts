/**
 * A way between two machines: takes time, sometimes long, and loses replies. Who waits for a lost one gives up after the
 * longest time an answer may take. Replies overtake one another.
 */
import type { Path } from '@freshet/protocol'
import type { Random } from '../harness/random.js'
import type { Agenda } from './agenda.js'
import type { Done, Request, Upstream } from './wire.js'

export interface NetworkOptions {
  readonly agenda: Agenda
  readonly random: Random
  readonly responseMsMax: number
  readonly lossRate: number
  readonly slowRate: number
}

export class Network {
  readonly #options: NetworkOptions

  constructor(options: NetworkOptions) {
    this.#options = options
  }

  /** The time that a message takes, at most `responseMsMax`. */
  delayMs(): number {
    const { random, slowRate, responseMsMax } = this.#options
    return random.float() < slowRate ? random.float() * (responseMsMax - 10) : 1 + 9 * random.float()
  }

  isLost(): boolean {
    return this.#options.random.float() < this.#options.lossRate
  }

  to(far: Upstream): Upstream {
    return {
      fetch: (request, done) => this.#carry(far, request, done),
      passWrite: (path: Path) => far.passWrite(path),
    }
  }

  #carry(far: Upstream, request: Request, done: Done): void {
    const { agenda, responseMsMax } = this.#options
    agenda.after(this.delayMs(), () => {
      far.fetch(request, reply => {
        if (this.isLost()) agenda.after(responseMsMax, () => done(undefined))
        else agenda.after(this.delayMs(), () => done(reply))
      })
    })
  }
}
