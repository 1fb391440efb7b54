/**
 * The faults of a simulated network: messages take time, and are lost, late or doubled at given rates. During a partition, some
 * links carry nothing.
 */
import type { Random } from '../harness/random.js'
import type { EventQueue } from './event-queue.js'

/** How often each fault happens to a message, from 0 to 1. */
export type Rates = Readonly<Record<'lost' | 'late' | 'doubled', number>>
export const NETWORK_FAULTS = ['lost', 'late', 'doubled', 'partition'] as const
export type NetworkFault = (typeof NETWORK_FAULTS)[number]

export interface NetworkOptions {
  readonly queue: EventQueue
  readonly random: Random
  readonly rates: Rates
  /** How long a message takes. */
  readonly delayMs: () => number
  /** How long a late message takes. */
  readonly lateMs: () => number
  /** How long the second copy of a doubled message takes; default: as the first. */
  readonly doubledMs?: () => number
  readonly onFault?: (fault: NetworkFault) => void
}

export const NO_RATES: Rates = { lost: 0, late: 0, doubled: 0 }
const CALM_SHARE = 0.3

/** Each rate is at most that in `most`, drawn in the order of its fields; in some runs all are 0. */
export function drawRates(random: Random, most: Rates): Rates {
  if (random.float() < CALM_SHARE) return NO_RATES
  return Object.fromEntries(Object.entries(most).map(([fault, rate]) => [fault, rate * random.float()])) as Rates
}

export class Network<Node> {
  rates: Rates
  readonly #options: NetworkOptions
  #isCut: ((from: Node, to: Node) => boolean) | undefined

  constructor(options: NetworkOptions) {
    this.#options = options
    this.rates = options.rates
  }

  /** Lasts for `forMs`, unless another partition replaces this one. */
  partition(isCut: (from: Node, to: Node) => boolean, forMs: number): void {
    this.#options.onFault?.('partition')
    this.#isCut = isCut
    this.#options.queue.after(forMs, () => {
      if (this.#isCut === isCut) this.#isCut = undefined
    })
  }

  /** From now on every message arrives exactly once and on time. */
  heal(): void {
    this.rates = NO_RATES
    this.#isCut = undefined
  }

  send(from: Node, to: Node, arrive: () => void): void {
    for (const delayMs of this.delaysMs(from, to)) this.#options.queue.after(delayMs, arrive)
  }

  /** The delay of each copy of a message that arrives; empty if it is lost. */
  delaysMs(from: Node, to: Node): readonly number[] {
    if (this.#isCut?.(from, to) || this.isLost()) return []
    const { delayMs, lateMs, doubledMs = delayMs } = this.#options
    if (this.#happens('late')) return [lateMs()]
    return this.#happens('doubled') ? [delayMs(), doubledMs()] : [delayMs()]
  }

  isLost(): boolean {
    return this.#happens('lost')
  }

  /** The delay of a message that is neither lost nor doubled. */
  delayMs(): number {
    return this.#happens('late') ? this.#options.lateMs() : this.#options.delayMs()
  }

  #happens(fault: keyof Rates): boolean {
    const happens = this.#options.random.float() < this.rates[fault]
    if (happens) this.#options.onFault?.(fault)
    return happens
  }
}
