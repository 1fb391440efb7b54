/** A few peers in simulated time, with lines that a test can cut; the lab has the large rings. */
import type { Message, Roster } from '../messages.js'
import { distance, type Peer, positionOfKey, positionOfPeer } from '../ring.js'
import { createRingPeerMemory, RingPeer, type RingPeerMemory, type RingPeerOptions } from '../ring-peer.js'
import type { InsertOutcome, RetrieveOutcome } from '../updates.js'

const OPTIONS: RingPeerOptions = {
  ...{ replicas: 3, successorsMax: 4, tickMs: 100, timeoutMs: 50, handsCopiesOnLeave: true, inspectEveryTicks: 0 },
  ...{ waitMs: 200, graceMs: 1000, readsAtOnce: 3, handsOver: () => true, isLossUnaware: false },
  ...{ copiesMin: 2, patience: 20, readsAhead: 0, versionsAtOnce: 1 },
}
const DELAY_MS = 5

interface Event {
  readonly atMs: number
  readonly action: () => void
}

export class SmallRing {
  nowMs = 0
  readonly memories: Map<Peer, RingPeerMemory> = new Map()
  readonly #options: RingPeerOptions
  readonly #peers = new Map<Peer, RingPeer>()
  #events: Event[] = []
  /** Which messages are lost. */
  isCut: (from: Peer, to: Peer, message: Message) => boolean = () => false

  constructor(options: Partial<RingPeerOptions> = {}) {
    this.#options = { ...OPTIONS, ...options }
  }

  /** A ring of `size` peers that have found each other. With `voting`, all are members. */
  static grown(size: number, options: Partial<RingPeerOptions> = {}): SmallRing {
    const ring = new SmallRing(options)
    for (let peer = 1; peer <= size; peer++) ring.join(peer)
    ring.run(4000)
    if (options.voting !== undefined) ring.adopt({ version: 1, members: ring.peers, before: [] })
    return ring
  }

  get peers(): Peer[] {
    return [...this.#peers.keys()]
  }

  at(peer: Peer): RingPeer {
    return this.#peers.get(peer)!
  }

  adopt(roster: Roster): void {
    for (const peer of roster.members) this.#peers.get(peer)?.adoptRoster(roster, this.nowMs)
  }

  /** Joins through any other peer; comes back with its memory if it was here before. */
  join(peer: Peer): RingPeer {
    const via = this.peers[0]
    const memory = this.memories.get(peer) ?? createRingPeerMemory()
    this.memories.set(peer, memory)
    let isStopped = () => false
    const effects = {
      send: (to: Peer, message: Message) => this.#send(peer, to, message),
      after: (delayMs: number, action: (nowMs: number) => void) =>
        this.#after(delayMs, () => {
          if (!isStopped()) action(this.nowMs)
        }),
    }
    const added = new RingPeer(peer, this.#options, effects, memory, this.nowMs)
    isStopped = () => this.#peers.get(peer) !== added
    this.#peers.set(peer, added)
    if (via === undefined) added.chord.begin(this.nowMs)
    else this.ask<boolean>(then => added.join(via, this.nowMs, then))
    added.start(peer % this.#options.tickMs)
    return added
  }

  leave(peer: Peer): void {
    this.ask<boolean>(then => this.at(peer).leave(this.nowMs, then))
    this.#peers.delete(peer)
  }

  crash(peer: Peer): void {
    this.#peers.delete(peer)
  }

  /** Cuts the lines between these and all others. */
  split(side: readonly Peer[]): void {
    this.isCut = (from, to) => side.includes(from) !== side.includes(to)
  }

  heal(): void {
    this.isCut = () => false
  }

  /** The peer that should be responsible, found by looking at all. */
  responsibleFor(key: string, hashFunction: number): Peer {
    const position = positionOfKey(key, hashFunction)
    const far = (peer: Peer) => distance(position, positionOfPeer(peer))
    return this.peers.reduce((nearest, peer) => (far(peer) < far(nearest) ? peer : nearest))
  }

  insert(by: Peer, key: string, value: unknown): InsertOutcome {
    return this.ask(then => this.at(by).updates.insert(key, value, this.nowMs, then))
  }

  retrieve(by: Peer, key: string): RetrieveOutcome {
    return this.ask(then => this.at(by).updates.retrieve(key, this.nowMs, then))
  }

  /** Lets time pass until there is an answer. */
  ask<Result>(begin: (then: (result: Result) => void) => void): Result {
    let result: { readonly value: Result } | undefined
    begin(value => {
      result = { value }
    })
    const untilMs = this.nowMs + 60_000
    while (result === undefined) {
      if (this.nowMs > untilMs) throw new Error('there was no answer within a minute of simulated time')
      this.#step()
    }
    return result.value
  }

  run(forMs: number): void {
    const untilMs = this.nowMs + forMs
    while (this.#events.length > 0 && this.#events[0]!.atMs <= untilMs) this.#step()
    this.nowMs = untilMs
  }

  #step(): void {
    const event = this.#events.shift()
    if (event === undefined) throw new Error('no further events are scheduled')
    this.nowMs = event.atMs
    event.action()
  }

  #after(delayMs: number, action: () => void): void {
    const atMs = this.nowMs + delayMs
    const index = this.#events.findIndex(event => event.atMs > atMs)
    const event = { atMs, action }
    if (index < 0) this.#events.push(event)
    else this.#events.splice(index, 0, event)
  }

  #send(from: Peer, to: Peer, message: Message): void {
    if (this.isCut(from, to, message)) return
    // Through text, as it would travel over a wire.
    const text = JSON.stringify(message)
    this.#after(DELAY_MS, () => this.#peers.get(to)?.receive(from, JSON.parse(text) as Message, this.nowMs))
  }
}
