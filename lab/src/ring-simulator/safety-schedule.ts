/**
 * One schedule of everything that can go wrong, drawn from a seed: peers of `core/currency` read and write a few keys while
 * messages are lost, doubled, late and out of order, clocks run wrong, the network falls apart, peers crash and come back, join,
 * leave, and are lost for good. What was given, acknowledged and read is checked against the two promises:
 *
 * - timestamps for a key strictly grow, in the order in which they are given, and so none is given twice;
 * - a read that is said to be current is not older than any write acknowledged, or any other such read ended, before it began;
 *   and it has the value that was written with its timestamp.
 */
import {
  compareTimestamps,
  createRingPeerMemory,
  NO_TIMESTAMP,
  type Peer,
  type RingPeer,
  type RingPeerMemory,
  type RingPeerOptions,
  type Timestamp,
} from '@freshet/core/currency'
import { createRandom, type Random } from '../harness/random.js'
import { convergedTables } from './converged-ring.js'
import { EventQueue } from './event-queue.js'
import { Registrar } from './registrar.js'
import { SimulatedRing } from './simulated-ring.js'

export type Protocol = 'tenures' | 'paper'
/**
 * 'no wait': guards keep no promise. 'kept counter': a peer that hands a counter on goes on using it. 'early answer': a write is
 * acknowledged before a majority has recorded it. 'forgetful guard': what guards recorded does not survive a crash.
 */
export const PLANTED_BUGS = ['no wait', 'kept counter', 'early answer', 'forgetful guard'] as const
export type PlantedBug = (typeof PLANTED_BUGS)[number]

export interface ScheduleSettings {
  readonly seed: number
  readonly protocol: Protocol
  readonly bug?: PlantedBug | undefined
}

export interface ScheduleResult {
  readonly violations: readonly string[]
  readonly timestamps: number
  readonly committed: number
  readonly reads: number
  readonly currentReads: number
  /** Reads after everything was well again, and those of them that were said to be current. */
  readonly lateReads: number
  readonly lateCurrentReads: number
  readonly events: number
  readonly faults: Readonly<Record<Fault, number>>
}

export type Fault =
  | ('lost' | 'doubled' | 'late' | 'partition' | 'crash' | 'power cut')
  | ('restart' | 'join' | 'leave' | 'gone for good')

const DRIFT_MAX = 0.02
const TROUBLE_MS = 8000
const CALM_MS = 8000
const PROMISE_MS = 1000

const OPTIONS: RingPeerOptions = {
  ...{ replicas: 3, successorsMax: 4, tickMs: 700, timeoutMs: 200, handsCopiesOnLeave: true, inspectEveryTicks: 6 },
  ...{ waitMs: 1000, graceMs: 1000, readsAtOnce: 3, handsOver: () => true, isLossUnaware: false },
  ...{ copiesMin: 2, patience: 12, readsAhead: 0, versionsAtOnce: 3 },
}

export function runSchedule(settings: ScheduleSettings): ScheduleResult {
  const schedule = new Schedule(settings)
  return schedule.run()
}

interface Truth {
  given: Timestamp
  acknowledged: Timestamp
  readonly values: Map<string, unknown>
}

class Schedule {
  readonly #settings: ScheduleSettings
  readonly #random: Random
  readonly #queue = new EventQueue()
  readonly #ring: SimulatedRing
  readonly #registrar: Registrar | undefined
  readonly #memories = new Map<Peer, RingPeerMemory>()
  readonly #truths = new Map<string, Truth>()
  readonly #violations: string[] = []
  readonly #faults: Record<Fault, number> = {
    ...{ lost: 0, doubled: 0, late: 0, partition: 0, crash: 0, restart: 0, join: 0, leave: 0 },
    ...{ 'power cut': 0, 'gone for good': 0 },
  }
  readonly #counts = { timestamps: 0, committed: 0, reads: 0, currentReads: 0, lateReads: 0, lateCurrentReads: 0 }
  #lossRate: number
  #doubleRate: number
  #lateRate: number
  /** Peers of one side of a partition, while there is one. */
  #side: ReadonlySet<Peer> | undefined
  #nextPeer = 100
  #written = 0

  constructor(settings: ScheduleSettings) {
    this.#settings = settings
    this.#random = createRandom(settings.seed)
    const { random } = this.#random.float() < 0.3 ? { random: () => 0 } : { random: () => this.#random.float() }
    this.#lossRate = 0.1 * random()
    this.#doubleRate = 0.05 * random()
    this.#lateRate = 0.05 * random()
    const voting = settings.protocol === 'tenures' ? { promiseMs: PROMISE_MS, driftMax: DRIFT_MAX } : undefined
    const network = { delaysMs: (from: Peer, to: Peer) => this.#delaysMs(from, to), refuses: () => false }
    this.#ring = new SimulatedRing(this.#queue, network, { ...OPTIONS, voting })
    if (voting !== undefined) this.#registrar = new Registrar(this.#ring, this.#random)
  }

  run(): ScheduleResult {
    this.#begin(3 + this.#random.below(4))
    for (let i = 0; i < 30; i++) this.#queue.after(this.#random.below(TROUBLE_MS), () => this.#operate(false))
    const faults = 1 + this.#random.below(7)
    for (let i = 0; i < faults; i++) this.#queue.after(this.#random.below(TROUBLE_MS), () => this.#harm())
    this.#queue.runUntil(TROUBLE_MS)
    this.#side = undefined
    this.#lossRate = this.#doubleRate = this.#lateRate = 0
    for (const peer of this.#memories.keys()) if (this.#ring.find(peer) === undefined) this.#restart(peer)
    for (let i = 0; i < 6; i++) {
      this.#queue.after(CALM_MS / 2 + this.#random.below(CALM_MS / 4), () => this.#operate(true))
    }
    this.#queue.runUntil(TROUBLE_MS + CALM_MS)
    return { violations: this.#violations, ...this.#counts, events: this.#queue.done, faults: this.#faults }
  }

  #begin(size: number): void {
    const peers = Array.from({ length: size }, (_, i) => i + 1)
    const tables = convergedTables(peers, OPTIONS.successorsMax)
    for (const peer of peers) {
      const added = this.#start(peer)
      added.chord.install(tables(peer), this.#ring.nowMs(peer))
      added.start(this.#random.below(OPTIONS.tickMs))
    }
    this.#registrar?.begin(peers)
  }

  #start(peer: Peer): RingPeer {
    const memory = this.#memories.get(peer) ?? createRingPeerMemory()
    this.#memories.set(peer, memory)
    if (this.#settings.bug === 'forgetful guard') memory.guard.ledger.clear()
    // A clock that begins anywhere, also after a restart, and runs a little wrong.
    const clock = {
      offsetMs: this.#random.below(1e9),
      rate: 1 + DRIFT_MAX * Math.min(1, Math.max(-1, 4 * this.#random.float() - 2)),
    }
    const added = this.#ring.add(peer, memory, clock)
    this.#watch(added)
    if (this.#settings.bug !== undefined) plant(this.#settings.bug, added)
    return added
  }

  /** Checks every timestamp where it is given. */
  #watch(peer: RingPeer): void {
    const generate = peer.timestamps.generate.bind(peer.timestamps)
    peer.timestamps.generate = (key, nowMs, then) =>
      generate(key, nowMs, (answer, laterMs) => {
        if (answer?.stamp !== undefined) this.#given(key, answer.stamp, peer.self)
        then(answer, laterMs)
      })
  }

  #given(key: string, stamp: Timestamp, by: Peer): void {
    const truth = this.#truthOf(key)
    this.#counts.timestamps++
    if (compareTimestamps(stamp, truth.given) <= 0) {
      this.#violate(`peer ${by} gave ${show(stamp)} for ${key} after ${show(truth.given)}`)
    } else truth.given = stamp
  }

  #truthOf(key: string): Truth {
    const truth = this.#truths.get(key) ?? { given: NO_TIMESTAMP, acknowledged: NO_TIMESTAMP, values: new Map() }
    this.#truths.set(key, truth)
    return truth
  }

  #violate(what: string): void {
    this.#violations.push(`at ${Math.round(this.#queue.nowMs)} ms: ${what}`)
  }

  #operate(isLate: boolean): void {
    const peers = this.#ring.peers
    if (peers.length === 0) return
    const peer = this.#ring.find(this.#random.pick(peers))!
    const key = this.#random.float() < 0.7 ? 'a' : 'b'
    if (this.#random.float() < 0.5) this.#write(peer, key)
    else this.#read(peer, key, isLate)
  }

  #write(peer: RingPeer, key: string): void {
    const value = ++this.#written
    const truth = this.#truthOf(key)
    peer.updates.insert(key, value, this.#ring.nowMs(peer.self), ({ state, stamp }) => {
      if (state === 'refused') return
      truth.values.set(show(stamp), value)
      if (state !== 'committed') return
      this.#counts.committed++
      if (compareTimestamps(stamp, truth.acknowledged) > 0) truth.acknowledged = stamp
    })
  }

  #read(peer: RingPeer, key: string, isLate: boolean): void {
    const truth = this.#truthOf(key)
    const floor = truth.acknowledged
    if (isLate) this.#counts.lateReads++
    peer.updates.retrieve(key, this.#ring.nowMs(peer.self), ({ isCurrent, stamp, value }) => {
      this.#counts.reads++
      if (!isCurrent) return
      this.#counts.currentReads++
      if (isLate) this.#counts.lateCurrentReads++
      if (compareTimestamps(stamp, floor) < 0) {
        this.#violate(`peer ${peer.self} read ${show(stamp)} of ${key} as current, ${show(floor)} was before`)
      }
      const written = truth.values.get(show(stamp))
      if (written !== undefined && written !== value) this.#violate(`${show(stamp)} of ${key} has two values`)
      if (compareTimestamps(stamp, truth.acknowledged) > 0) truth.acknowledged = stamp
    })
  }

  #harm(): void {
    const what = this.#random.float()
    if (what < 0.1) this.#cutPower()
    else if (what < 0.3) this.#split()
    else if (what < 0.6) this.#crash()
    else if (what < 0.75) this.#join()
    else if (what < 0.9) this.#leave()
    else this.#lose()
  }

  #split(): void {
    this.#faults.partition++
    const side = new Set(this.#ring.peers.filter(() => this.#random.float() < 0.5))
    this.#side = side
    this.#queue.after(500 + this.#random.below(5000), () => {
      if (this.#side === side) this.#side = undefined
    })
  }

  /** Most peers at once, and soon after they are back. */
  #cutPower(): void {
    this.#faults['power cut']++
    for (const peer of this.#ring.peers) {
      if (this.#random.float() < 0.3) continue
      this.#ring.stop(peer)
      this.#queue.after(20 + this.#random.below(600), () => this.#restart(peer))
    }
  }

  #crash(peer: Peer | undefined = this.#ring.peers[this.#random.below(Math.max(1, this.#ring.size))]): void {
    if (peer === undefined || this.#ring.peers.length < 2) return
    this.#faults.crash++
    this.#ring.stop(peer)
    this.#queue.after(100 + this.#random.below(4000), () => this.#restart(peer))
  }

  #restart(peer: Peer): void {
    if (this.#ring.find(peer) !== undefined || !this.#memories.has(peer)) return
    this.#faults.restart++
    const others = this.#ring.peers
    const added = this.#start(peer)
    if (others.length === 0) added.chord.begin(this.#ring.nowMs(peer))
    else this.#enter(added)
    added.start(this.#random.below(OPTIONS.tickMs))
  }

  /** Joins by way of somebody, again and again until it has. */
  #enter(peer: RingPeer): void {
    if (this.#ring.find(peer.self) !== peer) return
    const others = this.#ring.peers.filter(other => other !== peer.self)
    if (others.length === 0) {
      peer.chord.begin(this.#ring.nowMs(peer.self))
      return
    }
    peer.join(this.#random.pick(others), this.#ring.nowMs(peer.self), hasJoined => {
      if (!hasJoined) this.#queue.after(300, () => this.#enter(peer))
    })
  }

  #join(): void {
    this.#faults.join++
    const peer = this.#start(this.#nextPeer++)
    this.#registrar?.add(peer.self)
    this.#enter(peer)
    peer.start(this.#random.below(OPTIONS.tickMs))
    if (this.#random.float() < 0.5) return
    // Some do not stay for long, and much is asked of their neighbours meanwhile.
    for (let i = 0; i < 8; i++) this.#queue.after(this.#random.below(1500), () => this.#operate(false))
    this.#queue.after(200 + this.#random.below(800), () => this.#crash(peer.self))
  }

  #leave(): void {
    const peers = this.#ring.peers
    if (peers.length < 3 || (this.#registrar?.isBusy ?? false)) return
    this.#faults.leave++
    const peer = this.#random.pick(peers)
    this.#ring.find(peer)!.leave(this.#ring.nowMs(peer), () => this.#forget(peer))
  }

  /** Its disk is gone. That must not happen to so many that no majority remains; the paper's protocol knows no such limit. */
  #lose(): void {
    const peers = this.#ring.peers
    if (peers.length < 3 || (this.#registrar?.isBusy ?? false)) return
    this.#faults['gone for good']++
    this.#forget(this.#random.pick(peers))
  }

  #forget(peer: Peer): void {
    this.#ring.stop(peer)
    this.#memories.delete(peer)
    this.#registrar?.remove(peer)
  }

  #delaysMs(from: Peer, to: Peer): readonly number[] {
    if (this.#side !== undefined && this.#side.has(from) !== this.#side.has(to)) return []
    const random = this.#random
    if (random.float() < this.#lossRate) {
      this.#faults.lost++
      return []
    }
    const delayMs = () => 1 + random.below(30)
    if (random.float() < this.#lateRate) {
      this.#faults.late++
      return [delayMs() + random.below(4000)]
    }
    if (random.float() >= this.#doubleRate) return [delayMs()]
    this.#faults.doubled++
    return [delayMs(), delayMs() + random.below(3000)]
  }
}

/** Breaks one rule, to see that it is missed. */
function plant(bug: PlantedBug, { timestamps, guard }: RingPeer): void {
  if (bug === 'no wait') guard.promisedForMs = () => 0
  if (bug === 'kept counter') timestamps.drop = () => {}
  if (bug === 'early answer') timestamps.commit = (_key, _stamp, nowMs, then) => then(true, nowMs)
}

function show({ tenure, count }: Timestamp): string {
  return `${tenure}.${count}`
}
