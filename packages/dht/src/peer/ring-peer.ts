/**
 * One peer of the ring, with all its parts: Chord, timestamps, replicas, and its vote. It has no side effects of its own:
 * messages and timers go out through `Effects`, messages come in by `receive`, and times are those of a clock that only must
 * not jump. So the same code runs in a simulator and between processes.
 */
import { Calls, type Effects, type Then } from './calls.js'
import { Chord } from './chord.js'
import { Copies } from './copies.js'
import { createGuardMemory, Guard, type GuardMemory } from './guard.js'
import type { Answer, Copy, Handed, Message, Question, Roster } from './messages.js'
import { Replication } from './replication.js'
import type { Peer, RingPosition } from './ring.js'
import { Tenures } from './tenures.js'
import { type Counter, type TimestampOptions, Timestamps } from './timestamps.js'
import { type UpdateOptions, Updates } from './updates.js'
import { Versions } from './versions.js'

export interface RingPeerOptions extends TimestampOptions, UpdateOptions {
  /** How many hash functions replicas have. */
  readonly replicas: number
  readonly successorsMax: number
  /** How often neighbours and a finger are checked. */
  readonly tickMs: number
  /** How long to wait for an answer. */
  readonly timeoutMs: number
  /** Whether a peer that leaves hands its replicas on. (To one that joins they are always handed.) */
  readonly handsCopiesOnLeave: boolean
  /** How many ticks lie between two comparisons of counters that may be wrong with replicas. 0 is never. */
  readonly inspectEveryTicks: number
  /** How many replicas BRK reads at once. */
  readonly versionsAtOnce: number
  /** With a roster: how long a vote is promised, and how wrong clocks may run. Undefined: the paper's protocol alone. */
  readonly voting?: { readonly promiseMs: number; readonly driftMax: number } | undefined
}

/** The memory on disk. The edge keeps it, and writes a change before it sends any message that came after the change. */
export interface RingPeerMemory {
  /** How often the peer was started. */
  lives: number
  readonly copies: Map<string, Copy>
  readonly counters: Map<string, Counter>
  readonly guard: GuardMemory
}

export function createRingPeerMemory(): RingPeerMemory {
  return { lives: 0, copies: new Map(), counters: new Map(), guard: createGuardMemory() }
}

/** How often another member of the roster is asked for the peer that comes after us. */
const COMPARE_EVERY_TICKS = 3
const CALLS_PER_LIFE = 2 ** 32

export class RingPeer {
  readonly self: Peer
  readonly chord: Chord
  readonly timestamps: Timestamps
  readonly updates: Updates
  readonly versions: Versions
  readonly guard: Guard
  readonly #calls: Calls
  readonly #copies: Copies
  readonly #effects: Effects
  readonly #options: RingPeerOptions
  readonly #before: ReadonlyMap<string, Counter>
  #isLeaving = false
  #ticks = 0

  constructor(self: Peer, options: RingPeerOptions, effects: Effects, memory: RingPeerMemory, nowMs: number) {
    this.self = self
    this.#options = options
    this.#effects = effects
    this.#calls = new Calls({
      ...{ self, effects, timeoutMs: options.timeoutMs, firstCall: ++memory.lives * CALLS_PER_LIFE },
      answerer: (from, question, askedMs, reply) => this.#answer(from, question, askedMs, reply),
      onSilent: (peer, silentMs) => this.chord.forget(peer, silentMs),
    })
    const events = {
      handOver: (after: RingPosition, upTo: RingPosition) => this.#handOver(after, upTo),
      take: (handed: Handed, takenMs: number) => this.#take(handed, takenMs),
    }
    this.chord = new Chord(this.#calls, events, options)
    this.guard = new Guard(this.#calls, memory.guard, options.voting?.promiseMs ?? 0, nowMs)
    this.#copies = new Copies(memory.copies)
    // The first rule of valid counters: a peer that comes back has no valid counter.
    this.#before = new Map(memory.counters)
    memory.counters.clear()
    const replication = new Replication(this.chord, options.replicas)
    const tenures = options.voting && new Tenures({ calls: this.#calls, guard: this.guard, effects, ...options.voting })
    this.timestamps = new Timestamps({ chord: this.chord, replication, effects }, options, tenures, memory.counters)
    this.updates = new Updates(this.chord, replication, options)
    this.versions = new Versions(replication, options.versionsAtOnce)
  }

  /** Begins to look after its tables; the first time after `firstTickMs`, so that peers do not all do it at once. */
  start(firstTickMs: number): void {
    const { self } = this
    const tick = (nowMs: number): void => {
      if (this.#isLeaving) return
      this.chord.tick(nowMs)
      this.guard.tick(nowMs)
      this.#ticks++
      const { inspectEveryTicks } = this.#options
      if (inspectEveryTicks > 0 && this.#ticks % inspectEveryTicks === 0) this.timestamps.inspect(nowMs)
      const { members } = this.guard.roster
      const member = members[(this.#ticks / COMPARE_EVERY_TICKS) % members.length]
      if (member !== undefined && member !== self) this.chord.compareWith(member, nowMs)
      this.#effects.after(this.#options.tickMs, tick)
    }
    this.#effects.after(firstTickMs, tick)
  }

  /** Joins through any peer of the ring; then reports what its counters were, if it was there before. */
  join(via: Peer, nowMs: number, then: Then<boolean>): void {
    this.chord.join(via, nowMs, (hasJoined, joinedMs) => {
      if (hasJoined && this.#options.voting === undefined) this.timestamps.recover(this.#before, joinedMs)
      then(hasJoined, joinedMs)
    })
  }

  /** Leaves in good order: everything is handed on. Stop the peer afterwards. */
  leave(nowMs: number, then: Then<boolean>): void {
    this.#isLeaving = true
    this.chord.leave(nowMs, then)
  }

  /** The membership has changed. The caller gives the roster to the other members too. */
  adoptRoster(roster: Roster, nowMs: number): void {
    this.guard.adopt(roster, nowMs)
  }

  receive(from: Peer, message: Message, nowMs: number): void {
    this.#calls.receive(from, message, nowMs)
  }

  /** The edge knows that a question will not be answered. */
  unanswered(call: number, nowMs: number): void {
    this.#calls.unanswered(call, nowMs)
  }

  copyIn(slot: string): Copy | undefined {
    return this.#copies.get(slot)
  }

  #answer(from: Peer, question: Question, nowMs: number, reply: (answer: Answer) => void): void {
    switch (question.kind) {
      case 'route':
      case 'around':
      case 'stabilise':
      case 'join':
      case 'follow':
      case 'leaving':
        reply(this.chord.answer(from, question, nowMs))
        return
      case 'claim':
      case 'hold':
      case 'release':
      case 'roster':
      case 'ledger':
        reply(this.guard.answer(from, question, nowMs))
        return
      case 'hand':
        this.#take(question, nowMs)
        reply({})
        return
      default:
        this.chord.findOutResponsible(question.position, nowMs, (isOurs, laterMs) =>
          isOurs ? this.#answerAsOwner(question, laterMs, reply) : reply(undefined),
        )
    }
  }

  #answerAsOwner(question: Question, nowMs: number, reply: (answer: Answer) => void): void {
    if (question.kind === 'get') {
      const copy = this.#copies.get(question.slot)
      reply(copy === undefined ? {} : { copy })
    } else if (question.kind === 'put') {
      this.#copies.put(question.slot, question.copy, question.isVersion)
      reply({})
    } else this.timestamps.answer(question, nowMs, reply)
  }

  #handOver(after: RingPosition, upTo: RingPosition): Handed {
    const keepsCopies = this.#isLeaving && !this.#options.handsCopiesOnLeave
    return {
      counters: this.timestamps.handOver(after, upTo),
      copies: keepsCopies ? [] : this.#copies.within(after, upTo),
    }
  }

  #take({ copies, counters }: Handed, nowMs: number): void {
    for (const [slot, copy] of copies) this.#copies.put(slot, copy)
    this.timestamps.take(counters, nowMs)
  }
}
