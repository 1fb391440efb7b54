/**
 * One schedule of everything that can go wrong, drawn from a seed. Peers of @freshet/dht read and write a few keys while
 * messages are lost, doubled, late and out of order, clocks run wrong, the network is partitioned, peers crash and come back,
 * join, leave, and are lost for good. Timestamps, acknowledgements and reads are checked against the two promises:
 *
 * - timestamps for a key strictly grow, in the order in which they are issued, so none is issued twice;
 * - a read reported as current is not older than any write acknowledged before it began, nor than any such read that ended before
 *   it began; and it has the value that was written with its timestamp.
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
} from '@freshet/dht'
import { drawClockRate } from '../simulator/clock-error.js'
import { Schedule, type ScheduleResult, type ScheduleSettings } from '../simulator/schedule.js'
import { convergedTables } from './converged-ring.js'
import { type PlantedBug, plant } from './planted-bugs.js'
import { Registrar } from './registrar.js'
import { SimulatedRing } from './simulated-ring.js'

export interface TimestampSettings extends ScheduleSettings<PlantedBug> {
  readonly protocol: 'tenures' | 'paper'
}

const COUNTED = {
  counts: ['timestamps', 'committed', 'reads', 'currentReads', 'lateReads', 'lateCurrentReads'],
  faults: ['crash', 'power cut', 'restart', 'join', 'leave', 'gone for good'],
} as const

const DRIFT_MAX = 0.02
const PROMISE_MS = 1000

const OPTIONS: RingPeerOptions = {
  ...{ replicas: 3, successorsMax: 4, tickMs: 700, timeoutMs: 200, handsCopiesOnLeave: true, inspectEveryTicks: 6 },
  ...{ waitMs: 1000, graceMs: 1000, readsAtOnce: 3, handsOver: () => true, isLossUnaware: false },
  ...{ copiesMin: 2, patience: 12, readsAhead: 0, versionsAtOnce: 3 },
}

/** `lateReads`: reads after the faults have ended; `lateCurrentReads`: those of them that were reported as current. */
export function runSchedule(settings: TimestampSettings): ScheduleResult<typeof COUNTED> {
  return new TimestampSchedule(settings).run()
}

interface Truth {
  given: Timestamp
  acknowledged: Timestamp
  readonly values: Map<string, unknown>
}

class TimestampSchedule extends Schedule<Peer, typeof COUNTED> {
  readonly #bug: PlantedBug | undefined
  readonly #ring: SimulatedRing
  readonly #registrar: Registrar | undefined
  readonly #memories = new Map<Peer, RingPeerMemory>()
  readonly #truths = new Map<string, Truth>()
  #nextPeer = 100
  #written = 0

  constructor({ seed, bug, protocol }: TimestampSettings) {
    super({
      ...{ seed, counted: COUNTED, troubleMs: 8000, calmMs: 8000 },
      ...{ delayMsMax: 30, lateMsMax: 4000, doubledMsMax: 3000 },
      ratesMax: { lost: 0.1, doubled: 0.05, late: 0.05 },
    })
    this.#bug = bug
    const voting = protocol === 'tenures' ? { promiseMs: PROMISE_MS, driftMax: DRIFT_MAX } : undefined
    const network = { delaysMs: (from: Peer, to: Peer) => this.network.delaysMs(from, to), refuses: () => false }
    this.#ring = new SimulatedRing(this.queue, network, { ...OPTIONS, voting })
    if (voting !== undefined) this.#registrar = new Registrar(this.#ring, this.random)
  }

  run(): ScheduleResult<typeof COUNTED> {
    this.#begin(3 + this.random.below(4))
    this.plan(30, () => this.#operate(false))
    this.plan(1 + this.random.below(7), () => this.#harm())
    this.queue.runUntil(this.troubleMs)
    this.network.heal()
    for (const peer of this.#memories.keys()) if (this.#ring.find(peer) === undefined) this.#restart(peer)
    for (let i = 0; i < 6; i++) {
      this.queue.after(this.calmMs / 2 + this.random.below(this.calmMs / 4), () => this.#operate(true))
    }
    this.queue.runUntil(this.troubleMs + this.calmMs)
    return this.result
  }

  #begin(size: number): void {
    const peers = Array.from({ length: size }, (_, i) => i + 1)
    const tables = convergedTables(peers, OPTIONS.successorsMax)
    for (const peer of peers) {
      const added = this.#start(peer)
      added.chord.install(tables(peer), this.#ring.nowMs(peer))
      added.start(this.random.below(OPTIONS.tickMs))
    }
    this.#registrar?.begin(peers)
  }

  #start(peer: Peer): RingPeer {
    const memory = this.#memories.get(peer) ?? createRingPeerMemory()
    this.#memories.set(peer, memory)
    if (this.#bug === 'forgetful guard') memory.guard.ledger.clear()
    // A clock that begins anywhere, even after a restart, and runs slightly wrong.
    const clock = { offsetMs: this.random.below(1e9), rate: drawClockRate(this.random, DRIFT_MAX) }
    const added = this.#ring.add(peer, memory, clock)
    this.#watch(added)
    if (this.#bug !== undefined) plant(this.#bug, added)
    return added
  }

  /** Checks every timestamp where it is issued. */
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
    this.counts.timestamps++
    if (compareTimestamps(stamp, truth.given) <= 0) {
      this.violate(`peer ${by} gave ${show(stamp)} for ${key} after ${show(truth.given)}`)
    } else truth.given = stamp
  }

  #truthOf(key: string): Truth {
    const truth = this.#truths.get(key) ?? { given: NO_TIMESTAMP, acknowledged: NO_TIMESTAMP, values: new Map() }
    this.#truths.set(key, truth)
    return truth
  }

  #operate(isLate: boolean): void {
    const peers = this.#ring.peers
    if (peers.length === 0) return
    const peer = this.#ring.find(this.random.pick(peers))!
    const key = this.random.float() < 0.7 ? 'a' : 'b'
    if (this.random.float() < 0.5) this.#write(peer, key)
    else this.#read(peer, key, isLate)
  }

  #write(peer: RingPeer, key: string): void {
    const value = ++this.#written
    const truth = this.#truthOf(key)
    peer.updates.insert(key, value, this.#ring.nowMs(peer.self), ({ state, stamp }) => {
      if (state === 'refused') return
      truth.values.set(show(stamp), value)
      if (state !== 'committed') return
      this.counts.committed++
      if (compareTimestamps(stamp, truth.acknowledged) > 0) truth.acknowledged = stamp
    })
  }

  #read(peer: RingPeer, key: string, isLate: boolean): void {
    const truth = this.#truthOf(key)
    const floor = truth.acknowledged
    if (isLate) this.counts.lateReads++
    peer.updates.retrieve(key, this.#ring.nowMs(peer.self), ({ isCurrent, stamp, value }) => {
      this.counts.reads++
      if (!isCurrent) return
      this.counts.currentReads++
      if (isLate) this.counts.lateCurrentReads++
      if (compareTimestamps(stamp, floor) < 0) {
        this.violate(`peer ${peer.self} read ${show(stamp)} of ${key} as current, ${show(floor)} was before`)
      }
      const written = truth.values.get(show(stamp))
      if (written !== undefined && written !== value) this.violate(`${show(stamp)} of ${key} has two values`)
      if (compareTimestamps(stamp, truth.acknowledged) > 0) truth.acknowledged = stamp
    })
  }

  #harm(): void {
    const what = this.random.float()
    if (what < 0.1) this.#cutPower()
    else if (what < 0.3) this.#split()
    else if (what < 0.6) this.#crash()
    else if (what < 0.75) this.#join()
    else if (what < 0.9) this.#leave()
    else this.#lose()
  }

  #split(): void {
    const side = new Set(this.#ring.peers.filter(() => this.random.float() < 0.5))
    this.network.partition((from, to) => side.has(from) !== side.has(to), 500 + this.random.below(5000))
  }

  /** Stops most peers at once; they are back soon after. */
  #cutPower(): void {
    this.faults['power cut']++
    for (const peer of this.#ring.peers) {
      if (this.random.float() < 0.3) continue
      this.#ring.stop(peer)
      this.queue.after(20 + this.random.below(600), () => this.#restart(peer))
    }
  }

  #crash(peer: Peer | undefined = this.#ring.peers[this.random.below(Math.max(1, this.#ring.size))]): void {
    if (peer === undefined || this.#ring.peers.length < 2) return
    this.faults.crash++
    this.#ring.stop(peer)
    this.queue.after(100 + this.random.below(4000), () => this.#restart(peer))
  }

  #restart(peer: Peer): void {
    if (this.#ring.find(peer) !== undefined || !this.#memories.has(peer)) return
    this.faults.restart++
    const others = this.#ring.peers
    const added = this.#start(peer)
    if (others.length === 0) added.chord.begin(this.#ring.nowMs(peer))
    else this.#enter(added)
    added.start(this.random.below(OPTIONS.tickMs))
  }

  /** Joins through another peer, and retries until it has joined. */
  #enter(peer: RingPeer): void {
    if (this.#ring.find(peer.self) !== peer) return
    const others = this.#ring.peers.filter(other => other !== peer.self)
    if (others.length === 0) {
      peer.chord.begin(this.#ring.nowMs(peer.self))
      return
    }
    peer.join(this.random.pick(others), this.#ring.nowMs(peer.self), hasJoined => {
      if (!hasJoined) this.queue.after(300, () => this.#enter(peer))
    })
  }

  #join(): void {
    this.faults.join++
    const peer = this.#start(this.#nextPeer++)
    this.#registrar?.add(peer.self)
    this.#enter(peer)
    peer.start(this.random.below(OPTIONS.tickMs))
    if (this.random.float() < 0.5) return
    // Some do not stay for long, and their neighbours get many requests meanwhile.
    this.plan(8, () => this.#operate(false), 1500)
    this.queue.after(200 + this.random.below(800), () => this.#crash(peer.self))
  }

  #leave(): void {
    const peers = this.#ring.peers
    if (peers.length < 3 || (this.#registrar?.isBusy ?? false)) return
    this.faults.leave++
    const peer = this.random.pick(peers)
    this.#ring.find(peer)!.leave(this.#ring.nowMs(peer), () => this.#forget(peer))
  }

  /** The disk of a peer is lost. A majority must keep theirs; the paper's protocol has no such limit. */
  #lose(): void {
    const peers = this.#ring.peers
    if (peers.length < 3 || (this.#registrar?.isBusy ?? false)) return
    this.faults['gone for good']++
    this.#forget(this.random.pick(peers))
  }

  #forget(peer: Peer): void {
    this.#ring.stop(peer)
    this.#memories.delete(peer)
    this.#registrar?.remove(peer)
  }
}

function show({ tenure, count }: Timestamp): string {
  return `${tenure}.${count}`
}
