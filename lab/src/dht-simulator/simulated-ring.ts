/**
 * Peers of @freshet/dht in simulated time. The simulation decides what the network does to a message, and how wrong each peer's
 * clock runs. Everything else is the same code that runs between processes.
 */
import {
  createRingPeerMemory,
  type Message,
  type Peer,
  RingPeer,
  type RingPeerMemory,
  type RingPeerOptions,
} from '@freshet/dht'
import type { ClockError } from '../simulator/clock-error.js'
import type { EventQueue } from '../simulator/event-queue.js'

export interface SimulatedNetwork {
  /** The delays, in milliseconds, of the copies of a message that arrive; empty if it is lost. */
  delaysMs(from: Peer, to: Peer, message: Message): readonly number[]
  /** Whether a machine without the peer still answers so, as one does that refuses a connection. */
  refuses(peer: Peer): boolean
}

const TRUE_CLOCK: ClockError = { offsetMs: 0, rate: 1 }

interface Running {
  readonly peer: RingPeer
  readonly clock: ClockError
  /** Work begun before a restart does not continue after it. */
  isStopped: boolean
}

export class SimulatedRing {
  readonly queue: EventQueue
  readonly #options: RingPeerOptions
  readonly #network: SimulatedNetwork
  readonly #running = new Map<Peer, Running>()

  constructor(queue: EventQueue, network: SimulatedNetwork, options: RingPeerOptions) {
    this.queue = queue
    this.#network = network
    this.#options = options
  }

  get peers(): readonly Peer[] {
    return [...this.#running.keys()]
  }

  get size(): number {
    return this.#running.size
  }

  find(peer: Peer): RingPeer | undefined {
    return this.#running.get(peer)?.peer
  }

  /** The time on the peer's clock. */
  nowMs(peer: Peer): number {
    const running = this.#running.get(peer)
    return running === undefined ? 0 : this.#read(running.clock)
  }

  /** With the memory of an earlier life, that peer comes back. */
  add(peer: Peer, memory: RingPeerMemory = createRingPeerMemory(), clock: ClockError = TRUE_CLOCK): RingPeer {
    const stop = { isStopped: false }
    const effects = {
      send: (to: Peer, message: Message) => this.#send(stop, peer, to, message),
      after: (delayMs: number, action: (nowMs: number) => void) =>
        this.queue.after(delayMs / clock.rate, () => {
          if (!stop.isStopped) action(this.#read(clock))
        }),
    }
    const added = new RingPeer(peer, this.#options, effects, memory, this.#read(clock))
    this.#running.set(peer, Object.assign(stop, { peer: added, clock }))
    return added
  }

  /** Stops at once, in the middle of any work. */
  stop(peer: Peer): void {
    const running = this.#running.get(peer)
    if (running === undefined) return
    running.isStopped = true
    this.#running.delete(peer)
  }

  #read({ offsetMs, rate }: ClockError): number {
    return offsetMs + this.queue.nowMs * rate
  }

  #send(sender: { readonly isStopped: boolean }, from: Peer, to: Peer, message: Message): void {
    if (sender.isStopped) return
    for (const delayMs of this.#network.delaysMs(from, to, message)) {
      this.queue.after(delayMs, () => this.#deliver(from, to, message))
    }
  }

  #deliver(from: Peer, to: Peer, message: Message): void {
    const receiver = this.#running.get(to)
    if (receiver !== undefined) {
      receiver.peer.receive(from, message, this.#read(receiver.clock))
      return
    }
    if (!('call' in message) || !this.#network.refuses(to)) return
    for (const delayMs of this.#network.delaysMs(to, from, message)) {
      this.queue.after(delayMs, () => {
        const asker = this.#running.get(from)
        asker?.peer.unanswered(message.call, this.#read(asker.clock))
      })
    }
  }
}
