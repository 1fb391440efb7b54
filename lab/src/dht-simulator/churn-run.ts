/**
 * The paper's simulation (Akbarinia, Pacitti, Valduriez 2007, section 5.1 and table 1): thousands of peers, of which one leaves
 * or fails every second while another joins, items that are written now and then, and queries for them. UMS with counters that
 * are handed over (UMS-Direct), UMS with counters that never are (UMS-Indirect), and BRK use the same ring at the same times.
 *
 * Each item is queried once, so that a query meets what the time since the item's last update has left.
 *
 * The paper leaves open, and we chose: a message has 60 bytes, and 1000 more if it carries an item. A sender notices that a peer
 * has left in good order after one round trip, as with a closed port. A failed peer is silent, which is noticed after 1.5 s.
 * Tables are checked about a hundred times in the life of a peer.
 */
import {
  type Copy,
  compareTimestamps,
  distance,
  type InsertOutcome,
  type Message,
  NO_TIMESTAMP,
  type Peer,
  positionOfKey,
  positionOfPeer,
  type RetrieveOutcome,
  type RingPeer,
  type RingPeerOptions,
  slotOf,
  TIMESTAMP_FUNCTION,
  type Timestamp,
} from '@freshet/dht'
import { createRandom, type Random } from '../harness/random.js'
import { EventQueue } from '../simulator/event-queue.js'
import { convergedTables } from './converged-ring.js'
import { SimulatedRing } from './simulated-ring.js'

export const ALGORITHMS = ['direct', 'indirect', 'brk'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

export interface ChurnSettings {
  readonly seed: number
  readonly peers: number
  readonly replicas: number
  /** The share of departures that are failures. */
  readonly failureRate: number
  readonly updatesPerHour: number
  readonly departuresPerSecond: number
  readonly durationMs: number
  /** Per algorithm. Each item is queried once. */
  readonly items: number
  readonly handsCopiesOnLeave: boolean
  readonly algorithms: readonly Algorithm[]
  /** How many replicas BRK reads at once, and UMS before it knows the last timestamp. */
  readonly versionsAtOnce?: number
  readonly readsAhead?: number
}

/** Table 1. */
export const PAPER: ChurnSettings = {
  ...{ seed: 1, peers: 10_000, replicas: 10, failureRate: 0.05, updatesPerHour: 1, departuresPerSecond: 1 },
  ...{ durationMs: 3 * 3_600_000, items: 30, handsCopiesOnLeave: true, algorithms: ALGORITHMS },
}

export interface QueryResult {
  readonly algorithm: Algorithm
  readonly responseMs: number
  readonly messages: number
  readonly replicas: number
  readonly isCurrent: boolean
  /** The query returned the last value written. */
  readonly isLatest: boolean
  /** The share of replicas that had that value (the paper's p_t), and the time since it was written. */
  readonly currentShare: number
  readonly ageMs: number
  /** The counter was initialised from the replicas, and whether the result was right. */
  readonly wasInitialised: boolean
  readonly isCounterRight: boolean
}

export interface ChurnResult {
  readonly queries: readonly QueryResult[]
  /** Operations whose peer departed during them. */
  readonly retried: number
  readonly events: number
  readonly departures: number
}

const LATENCY_MS = { mean: 200, deviation: 10 }
const BITS_PER_MS = { mean: 56, deviation: Math.sqrt(32) }
const MESSAGE_BYTES = 60
const ITEM_BYTES = 1000
const WARM_UP_MS = 60_000
const PATIENCE_MS = 300_000
const RETRY_MS = 60_000

interface Item {
  readonly algorithm: Algorithm
  readonly key: string
  stamp: Timestamp
  writtenMs: number
}

export function runChurn(settings: ChurnSettings, progress: (share: number) => void = () => {}): ChurnResult {
  return new ChurnRun(settings).run(progress)
}

class ChurnRun {
  readonly #settings: ChurnSettings
  readonly #random: Random
  readonly #queue = new EventQueue()
  readonly #ring: SimulatedRing
  readonly #tickMs: number
  readonly #alive: Peer[] = []
  readonly #left = new Set<Peer>()
  readonly #queries: QueryResult[] = []
  #nextPeer = 1
  #retried = 0
  #departures = 0

  constructor(settings: ChurnSettings) {
    this.#settings = settings
    this.#random = createRandom(settings.seed)
    const lifeMs = (settings.peers / settings.departuresPerSecond) * 1000
    this.#tickMs = Math.min(90_000, Math.max(5000, lifeMs / 100))
    const network = {
      delaysMs: (_from: Peer, _to: Peer, message: Message) => [this.#delayMs(message)],
      refuses: (peer: Peer) => this.#left.has(peer),
    }
    this.#ring = new SimulatedRing(this.#queue, network, this.#options())
  }

  run(progress: (share: number) => void): ChurnResult {
    this.#begin()
    const { items, durationMs, departuresPerSecond, algorithms } = this.#settings
    for (let i = 0; i < items; i++) {
      // The same times for all algorithms, so that they meet the same ring.
      const times = this.#random.fork(`item ${i}`)
      const queryMs = WARM_UP_MS + times.float() * (durationMs - WARM_UP_MS)
      for (const algorithm of algorithms)
        this.#schedule({ algorithm, key: `${algorithm}/${i}` }, queryMs, times.fork('updates'))
    }
    this.#departNext(departuresPerSecond / 1000)
    const steps = 100
    for (let step = 1; step <= steps; step++) {
      this.#queue.runUntil((durationMs * step) / steps)
      progress(step / steps)
    }
    this.#queue.runUntil(durationMs + PATIENCE_MS)
    const { done: events } = this.#queue
    return { queries: this.#queries, retried: this.#retried, events, departures: this.#departures }
  }

  #options(): RingPeerOptions {
    const { replicas, handsCopiesOnLeave, versionsAtOnce = 1, readsAhead = 0 } = this.#settings
    return {
      ...{ replicas, handsCopiesOnLeave, versionsAtOnce, readsAhead, copiesMin: 1, patience: 100 },
      ...{ successorsMax: 8, tickMs: this.#tickMs, timeoutMs: 1500, inspectEveryTicks: 0 },
      ...{ waitMs: 10_000, graceMs: 60_000, readsAtOnce: 1, isLossUnaware: false },
      handsOver: key => !key.startsWith('indirect/'),
    }
  }

  #begin(): void {
    const peers = Array.from({ length: this.#settings.peers }, () => this.#nextPeer++)
    const tables = convergedTables(peers, 8)
    for (const peer of peers) {
      const added = this.#ring.add(peer)
      added.chord.install(tables(peer), 0)
      added.start(this.#random.float() * this.#tickMs)
      this.#alive.push(peer)
    }
  }

  #schedule(named: Pick<Item, 'algorithm' | 'key'>, queryMs: number, times: Random): void {
    const item: Item = { ...named, stamp: NO_TIMESTAMP, writtenMs: 0 }
    this.#queue.after(times.float() * WARM_UP_MS * 0.5, () => this.#write(item))
    const ratePerMs = this.#settings.updatesPerHour / 3_600_000
    const next = (timeMs: number): void => {
      const atMs = timeMs + times.exponential(ratePerMs)
      if (atMs > this.#settings.durationMs) return
      this.#queue.after(atMs - timeMs, () => this.#write(item))
      this.#queue.after(atMs - timeMs, () => next(atMs))
    }
    if (ratePerMs > 0) this.#queue.after(WARM_UP_MS, () => next(WARM_UP_MS))
    this.#queue.after(queryMs, () => this.#query(item))
  }

  #serviceAt(peer: RingPeer, algorithm: Algorithm): RingPeer['updates'] | RingPeer['versions'] {
    return algorithm === 'brk' ? peer.versions : peer.updates
  }

  #write(item: Item): void {
    this.#operate((peer, done) => {
      const take = ({ state, stamp }: InsertOutcome) => {
        done(state !== 'refused')
        if (state === 'refused' || compareTimestamps(stamp, item.stamp) < 0) return
        item.stamp = stamp
        item.writtenMs = this.#queue.nowMs
      }
      this.#serviceAt(peer, item.algorithm).insert(item.key, this.#queue.nowMs, this.#queue.nowMs, take)
    })
  }

  #query(item: Item): void {
    this.#operate((peer, done) => {
      const beganMs = this.#queue.nowMs
      const before = this.#describe(item)
      const take = (outcome: RetrieveOutcome) => {
        done(true)
        this.#queries.push({
          ...{ algorithm: item.algorithm, responseMs: this.#queue.nowMs - beganMs, messages: outcome.messages },
          ...{ replicas: outcome.replicas, isCurrent: outcome.isCurrent, ...before },
          isLatest: compareTimestamps(outcome.stamp, item.stamp) >= 0,
          isCounterRight: this.#isCounterRight(item),
        })
      }
      this.#serviceAt(peer, item.algorithm).retrieve(item.key, beganMs, take)
    })
  }

  /** From any peer; from another if that peer departs before the operation is done, or the operation was refused. */
  #operate(operation: (peer: RingPeer, done: (isDone: boolean) => void) => void): void {
    const peer = this.#ring.find(this.#random.pick(this.#alive))!
    let isOver = false
    operation(peer, isDone => {
      if (!isOver && !isDone) this.#queue.after(RETRY_MS, () => this.#operate(operation))
      isOver = true
    })
    this.#queue.after(RETRY_MS, () => {
      if (isOver || this.#ring.find(peer.self) === peer) return
      isOver = true
      this.#retried++
      this.#operate(operation)
    })
  }

  /** Facts that only the simulation can know. */
  #describe(item: Item): Pick<QueryResult, 'currentShare' | 'ageMs' | 'wasInitialised'> {
    const { replicas } = this.#settings
    let current = 0
    for (let hashFunction = 1; hashFunction <= replicas; hashFunction++) {
      const copy: Copy | undefined = this.#responsibleFor(item.key, hashFunction)?.copyIn(
        slotOf(item.key, hashFunction),
      )
      if (copy !== undefined && compareTimestamps(copy.stamp, item.stamp) >= 0) current++
    }
    const counters = this.#responsibleFor(item.key, TIMESTAMP_FUNCTION)?.timestamps.counters
    return {
      currentShare: current / replicas,
      ageMs: this.#queue.nowMs - item.writtenMs,
      wasInitialised: counters?.has(item.key) === false,
    }
  }

  #isCounterRight(item: Item): boolean {
    const counter = this.#responsibleFor(item.key, TIMESTAMP_FUNCTION)?.timestamps.counters.get(item.key)
    return counter !== undefined && compareTimestamps(counter.committed, item.stamp) >= 0
  }

  #responsibleFor(key: string, hashFunction: number): RingPeer | undefined {
    const position = positionOfKey(key, hashFunction)
    let [nearest, least] = [this.#alive[0]!, Number.POSITIVE_INFINITY]
    for (const peer of this.#alive) {
      const far = distance(position, positionOfPeer(peer))
      if (far < least) [nearest, least] = [peer, far]
    }
    return this.#ring.find(nearest)
  }

  #departNext(ratePerMs: number): void {
    this.#queue.after(this.#random.exponential(ratePerMs), () => {
      if (this.#queue.nowMs > this.#settings.durationMs) return
      this.#depart()
      this.#join()
      this.#departNext(ratePerMs)
    })
  }

  #depart(): void {
    const index = this.#random.below(this.#alive.length)
    const peer = this.#alive[index]!
    this.#alive[index] = this.#alive.at(-1)!
    this.#alive.pop()
    this.#departures++
    if (this.#random.float() < this.#settings.failureRate) {
      this.#ring.stop(peer)
      return
    }
    this.#ring.find(peer)?.leave(this.#queue.nowMs, () => {
      this.#left.add(peer)
      this.#ring.stop(peer)
    })
  }

  #join(): void {
    const peer = this.#ring.add(this.#nextPeer++)
    const enter = () =>
      peer.join(this.#random.pick(this.#alive), this.#queue.nowMs, hasJoined => {
        if (!hasJoined) {
          this.#queue.after(5000, enter)
          return
        }
        this.#alive.push(peer.self)
        peer.start(this.#random.float() * this.#tickMs)
      })
    enter()
  }

  #delayMs(message: Message): number {
    const bytes = MESSAGE_BYTES + (carriesItem(message) ? ITEM_BYTES : 0)
    const bitsPerMs = Math.max(1, normal(this.#random, BITS_PER_MS))
    return Math.max(1, normal(this.#random, LATENCY_MS)) + (bytes * 8) / bitsPerMs
  }
}

function carriesItem(message: Message): boolean {
  if ('question' in message) return message.question.kind === 'put'
  return message.answer !== undefined && 'copy' in message.answer
}

/** The sum of four uniforms is close enough to normal for delays, and takes no logarithm. */
function normal(random: Random, { mean, deviation }: { readonly mean: number; readonly deviation: number }): number {
  const sum = random.float() + random.float() + random.float() + random.float()
  return mean + (sum - 2) * Math.sqrt(3) * deviation
}
