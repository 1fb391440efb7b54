/**
 * Chord (Stoica, Morris, Karger, Kaashoek, Balakrishnan 2001): which peer is responsible for a position of the ring, found in
 * O(log n) questions by peers that know O(log n) others each.
 *
 * A peer knows its predecessor, a list of successors, and fingers: the first peer at or after half the ring from here, a
 * quarter, an eighth and so on. A look-up asks ever nearer peers; the one just before the position knows its successor.
 * Everything may be wrong for a while: each tick a peer asks its successor for its neighbours (`stabilise`) and checks one
 * finger. A peer that does not answer is dropped from all lists, and found again if it was alive.
 *
 * Departures from the paper: the asking peer leads its look-up (iterative), so that a peer that does not answer is skipped;
 * answers name several peers; a finger is checked by asking it for its predecessor, which takes two messages where a look-up
 * takes a dozen; and when another peer asks for a position before a peer's predecessor, the peer checks at once whether the
 * predecessor is still alive.
 *
 * Responsibility is an opinion. Two peers may hold it at once, for as long as a partition lasts: `tenures.ts` says what
 * makes that safe.
 */
import type { Asking, Calls, Then } from './calls.js'
import type { Answer, Around, Handed, Kind, Question } from './messages.js'
import { OwnedRange } from './owned-range.js'
import { distance, isWithin, type Peer, positionOfPeer, RING_SIZE, type RingPosition } from './ring.js'

export interface ChordEvents {
  /** The part (after, upTo] now belongs to another peer: returns what to hand to it. */
  handOver(after: RingPosition, upTo: RingPosition, nowMs: number): Handed
  take(handed: Handed, nowMs: number): void
}

export interface ChordTables extends Around {
  readonly fingers: readonly Peer[]
}

const HOPS_MAX = 48
const NEARER_MAX = 3
const CANDIDATES_MAX = 8
const OWNERS_MAX = 3
const FINGERS_MAX = 40
const NO_PEER = -1
/** A predecessor that was silent for this many ticks is asked whether it is there. */
const QUIET_TICKS = 3

export class Chord {
  readonly self: Peer
  readonly position: RingPosition
  readonly #calls: Calls
  readonly #events: ChordEvents
  readonly #successorsMax: number
  readonly #tickMs: number
  readonly #owned: OwnedRange
  #predecessor: Peer | undefined
  #heardMs = 0
  #successors: Peer[]
  #fingers: Peer[] = []
  #nextFinger = 0

  constructor(
    calls: Calls,
    events: ChordEvents,
    { successorsMax, tickMs }: { readonly successorsMax: number; readonly tickMs: number },
  ) {
    this.self = calls.self
    this.position = positionOfPeer(calls.self)
    this.#calls = calls
    this.#events = events
    this.#successorsMax = successorsMax
    this.#tickMs = tickMs
    this.#owned = new OwnedRange(this.position)
    this.#successors = [this.self]
  }

  get tables(): ChordTables {
    return { predecessor: this.#predecessor, successors: this.#successors, fingers: this.#fingers }
  }

  /** The first peer of a ring. */
  begin(nowMs: number): void {
    this.#setPredecessor(this.self, nowMs)
  }

  /** Starts with the tables of a peer that has been here for long. */
  install({ predecessor, successors, fingers }: ChordTables, nowMs: number): void {
    this.#successors = [...successors]
    this.#fingers = [...fingers]
    this.#setPredecessor(predecessor, nowMs)
  }

  /** Joins through any peer of the ring. `then` gets false if that failed; try again. */
  join(via: Peer, nowMs: number, then: Then<boolean>): void {
    this.#search(this.position, [via], nowMs, {}, (owners, foundMs) => {
      const owner = owners.find(peer => peer !== this.self)
      if (owner === undefined) return then(false, foundMs)
      this.#calls.ask(owner, { kind: 'join' }, foundMs, (answer, joinedMs) => {
        if (answer === undefined) return then(false, joinedMs)
        this.#successors = this.#listOf([owner, ...answer.successors])
        this.#fingers = answer.fingers.filter(peer => peer !== this.self)
        this.#setPredecessor(answer.predecessor, joinedMs)
        this.#events.take(answer.handed, joinedMs)
        if (answer.predecessor !== undefined) {
          this.#calls.ask(answer.predecessor, { kind: 'follow' }, joinedMs, () => {})
        }
        then(true, joinedMs)
      })
    })
  }

  /** Hands everything to the successor. `then` gets false if it did not answer: then it is as if this peer had failed. */
  leave(nowMs: number, then: Then<boolean>): void {
    const successor = this.#successors[0]!
    if (successor === this.self) {
      then(true, nowMs)
      return
    }
    const handed = this.#events.handOver(this.position, this.position, nowMs)
    const predecessor = this.#predecessor === this.self ? undefined : this.#predecessor
    const leaving = { kind: 'leaving', predecessor, successors: this.#successors } as const
    if (predecessor !== undefined && predecessor !== successor) {
      this.#calls.ask(predecessor, { ...leaving, handed: { counters: [], copies: [] } }, nowMs, () => {})
    }
    this.#calls.ask(successor, { ...leaving, handed }, nowMs, (answer, laterMs) => then(answer !== undefined, laterMs))
  }

  /** Must be called every `tickMs`. */
  tick(nowMs: number): void {
    this.#stabilise(nowMs)
    this.#checkFinger(nowMs)
    const predecessor = this.#predecessor
    if (predecessor === undefined || predecessor === this.self) return
    if (nowMs - this.#heardMs > QUIET_TICKS * this.#tickMs) {
      this.#calls.ask(predecessor, { kind: 'around' }, nowMs, (answer, laterMs) => {
        if (answer !== undefined) this.#heardMs = laterMs
      })
    }
  }

  /**
   * Asks another peer for the peer that comes after us. Rings that a partition has torn apart know nothing of each other when it
   * is over; through a member that is known from elsewhere they become one again.
   */
  compareWith(peer: Peer, nowMs: number): void {
    this.#search((this.position + 1) % RING_SIZE, [peer], nowMs, {}, ([owner]) => {
      if (owner !== undefined) this.#follow(owner)
    })
  }

  isResponsible(position: RingPosition): boolean {
    const predecessor = this.#predecessor
    return predecessor === undefined || isWithin(position, positionOfPeer(predecessor), this.position)
  }

  /** If the position lies before our predecessor, the predecessor may have failed: then the position is ours. */
  findOutResponsible(position: RingPosition, nowMs: number, then: Then<boolean>): void {
    if (this.isResponsible(position)) {
      then(true, nowMs)
      return
    }
    this.#calls.ask(this.#predecessor!, { kind: 'around' }, nowMs, (_, laterMs) =>
      then(this.isResponsible(position), laterMs),
    )
  }

  /** Infinity if the position is not ours. */
  responsibleSinceMs(position: RingPosition): number {
    return this.#owned.sinceMs(position)
  }

  /** Asks the peer responsible for a position. Undefined if no peer was found that says it is responsible. */
  askAt<K extends Kind>(
    position: RingPosition,
    question: { readonly kind: K } & Question<K>,
    nowMs: number,
    then: Then<Answer<K> | undefined>,
    asking: Asking = {},
  ): void {
    this.lookUp(position, nowMs, asking, (owners, foundMs) => {
      const askNext = (index: number, askedMs: number): void => {
        const owner = owners[index]
        if (owner === undefined || index === OWNERS_MAX) {
          then(undefined, askedMs)
          return
        }
        const take: Then<Answer<K> | undefined> = (answer, answeredMs) =>
          answer === undefined ? askNext(index + 1, answeredMs) : then(answer, answeredMs)
        this.#calls.ask(owner, question, askedMs, take, asking)
      }
      askNext(0, foundMs)
    })
  }

  /** The peer responsible for a position first, then those that would be if it had failed. Empty if it was not found. */
  lookUp(position: RingPosition, nowMs: number, asking: Asking, then: Then<readonly Peer[]>): void {
    const { owners, nearer } = this.#route(position)
    if (owners.length > 0) then(owners, nowMs)
    else this.#search(position, nearer, nowMs, asking, then)
  }

  /** Answers the questions for Chord; undefined for any other question. */
  answer(from: Peer, question: Question, nowMs: number): Answer {
    switch (question.kind) {
      case 'route':
        return this.#route(question.position)
      case 'around':
        return { predecessor: this.#predecessor, successors: this.#successors }
      case 'stabilise':
        return this.#answerStabilise(from, nowMs)
      case 'join':
        return this.#answerJoin(from, nowMs)
      case 'follow':
        return this.#follow(from)
      case 'leaving':
        return this.#answerLeaving(from, question, nowMs)
      default:
        return undefined
    }
  }

  /** The peer did not answer. */
  forget(peer: Peer, nowMs: number): void {
    this.#successors = this.#successors.filter(other => other !== peer)
    if (this.#successors.length === 0) this.#successors = [this.#nearestKnown(peer)]
    const finger = this.#fingers.indexOf(peer)
    if (finger >= 0) this.#fingers = this.#fingers.map(other => (other === peer ? NO_PEER : other))
    if (this.#predecessor === peer) this.#setPredecessor(undefined, nowMs)
  }

  /** The nearest known peer, clockwise; the peer itself if it knows no other. */
  #nearestKnown(except: Peer): Peer {
    const known = [...this.#fingers, this.#predecessor ?? NO_PEER].filter(peer => peer !== NO_PEER && peer !== except)
    const near = (peer: Peer) => distance(this.position, positionOfPeer(peer)) || RING_SIZE
    return known.reduce((nearest, peer) => (near(peer) < near(nearest) ? peer : nearest), this.self)
  }

  #setPredecessor(peer: Peer | undefined, nowMs: number): void {
    this.#predecessor = peer
    this.#heardMs = nowMs
    this.#owned.set(peer === undefined ? this.position : positionOfPeer(peer), nowMs)
  }

  #listOf(peers: readonly Peer[]): Peer[] {
    const list: Peer[] = []
    for (const peer of peers) {
      // Once around: the peers after ourselves in a successor's list are known already.
      if (peer === this.self || list.length === this.#successorsMax) break
      if (!list.includes(peer)) list.push(peer)
    }
    return list.length === 0 ? [this.self] : list
  }

  #route(position: RingPosition): Answer<'route'> {
    if (this.#predecessor !== undefined && this.isResponsible(position)) {
      return { owners: [this.self, ...this.#successors.slice(0, OWNERS_MAX - 1)], nearer: [] }
    }
    const successor = this.#successors[0]!
    if (isWithin(position, this.position, positionOfPeer(successor))) {
      return { owners: this.#successors.slice(0, OWNERS_MAX), nearer: [] }
    }
    return { owners: [], nearer: this.#nearerTo(position) }
  }

  /** Known peers between here and the position, the nearest to it first. */
  #nearerTo(position: RingPosition): Peer[] {
    const target = distance(this.position, position)
    const nearer: Peer[] = []
    for (const peer of this.#fingers) {
      if (peer === NO_PEER || distance(this.position, positionOfPeer(peer)) >= target) continue
      if (nearer.push(peer) === NEARER_MAX) return nearer
    }
    for (let i = this.#successors.length - 1; i >= 0 && nearer.length < NEARER_MAX; i--) {
      const peer = this.#successors[i]!
      if (distance(this.position, positionOfPeer(peer)) < target && !nearer.includes(peer)) nearer.push(peer)
    }
    return nearer
  }

  #search(
    position: RingPosition,
    first: readonly Peer[],
    nowMs: number,
    { meter }: Asking,
    then: Then<readonly Peer[]>,
  ): void {
    const asked: Peer[] = [this.self]
    let candidates = first.filter(peer => peer !== this.self)
    const left = (peer: Peer) => distance(positionOfPeer(peer), position)
    const askNext = (askedMs: number): void => {
      const peer = candidates.shift()
      if (peer === undefined || asked.length > HOPS_MAX) {
        then([], askedMs)
        return
      }
      asked.push(peer)
      const take: Then<Answer<'route'> | undefined> = (answer, answeredMs) => {
        if (answer === undefined) return askNext(answeredMs)
        if (answer.owners.length > 0) return then(answer.owners, answeredMs)
        const news = answer.nearer.filter(other => !asked.includes(other) && !candidates.includes(other))
        candidates = [...news, ...candidates].sort((a, b) => left(a) - left(b)).slice(0, CANDIDATES_MAX)
        askNext(answeredMs)
      }
      this.#calls.ask(peer, { kind: 'route', position }, askedMs, take, { meter })
    }
    askNext(nowMs)
  }

  #stabilise(nowMs: number): void {
    const successor = this.#successors[0]!
    if (successor === this.self) {
      // Alone, or apparently so: a peer that took us for its successor is a successor for us.
      if (this.#predecessor !== undefined && this.#predecessor !== this.self) this.#successors = [this.#predecessor]
      return
    }
    this.#calls.ask(successor, { kind: 'stabilise' }, nowMs, (answer, laterMs) => {
      if (answer === undefined || this.#successors[0] !== successor) return
      const { predecessor, successors } = answer
      const list = [successor, ...successors]
      const isNew = predecessor !== undefined && predecessor !== this.self && this.#isNext(predecessor, successor)
      this.#successors = this.#listOf(isNew ? [predecessor, ...list] : list)
      if (isNew) this.#calls.ask(predecessor, { kind: 'stabilise' }, laterMs, () => {})
    })
  }

  #isNext(peer: Peer, successor: Peer): boolean {
    return peer !== successor && isWithin(positionOfPeer(peer), this.position, positionOfPeer(successor))
  }

  /** Finger i is the first at or after half the ring, divided by 2 i times. */
  #checkFinger(nowMs: number): void {
    const successor = this.#successors[0]!
    const level = this.#nextFinger
    const step = RING_SIZE / 2 ** (level + 1)
    if (
      successor === this.self ||
      level === FINGERS_MAX ||
      step <= distance(this.position, positionOfPeer(successor))
    ) {
      // Any peer nearer than the successor would be the successor.
      this.#fingers.length = Math.min(this.#fingers.length, level)
      this.#nextFinger = 0
      return
    }
    this.#nextFinger = level + 1
    const target = (this.position + step) % RING_SIZE
    const finger = this.#fingers[level] ?? NO_PEER
    const isBeyond = finger !== NO_PEER && distance(this.position, positionOfPeer(finger)) >= step
    if (!isBeyond) {
      this.#findFinger(level, target, nowMs)
      return
    }
    this.#calls.ask(finger, { kind: 'around' }, nowMs, (answer, laterMs) => {
      if (answer === undefined) return this.#findFinger(level, target, laterMs)
      const before = answer.predecessor
      if (before === undefined || before === this.self) return
      if (distance(this.position, positionOfPeer(before)) >= step && this.#fingers[level] === finger)
        this.#fingers[level] = before
    })
  }

  #findFinger(level: number, target: RingPosition, nowMs: number): void {
    this.lookUp(target, nowMs, {}, ([owner]) => {
      if (owner === undefined || owner === this.self) return
      while (this.#fingers.length < level) this.#fingers.push(NO_PEER)
      this.#fingers[level] = owner
    })
  }

  /** A peer that takes us for its successor is our predecessor, if it is nearer than the one we know. */
  #answerStabilise(from: Peer, nowMs: number): Around {
    const around = { predecessor: this.#predecessor, successors: this.#successors }
    if (from === this.#predecessor) this.#heardMs = nowMs
    else if (this.#isNearer(from)) {
      const handed = this.#becomePredecessor(from, nowMs)
      if (handed.counters.length + handed.copies.length > 0) {
        this.#calls.ask(from, { kind: 'hand', ...handed }, nowMs, () => {})
      }
    }
    return around
  }

  #answerJoin(from: Peer, nowMs: number): Answer<'join'> {
    // Asked again because our answer was lost.
    const isKnown = from === this.#predecessor
    if (!isKnown && !this.#isNearer(from)) return undefined
    const predecessor = isKnown ? undefined : this.#predecessor
    const successors = this.#successors
    const fingers = this.#fingers.filter(peer => peer !== NO_PEER)
    const handed = isKnown ? { counters: [], copies: [] } : this.#becomePredecessor(from, nowMs)
    if (this.#successors[0] === this.self) this.#successors = [from]
    return { predecessor, successors, fingers, handed }
  }

  #isNearer(peer: Peer): boolean {
    const predecessor = this.#predecessor
    if (peer === this.self) return false
    return predecessor === undefined || (peer !== predecessor && this.#isBetween(predecessor, peer))
  }

  #isBetween(predecessor: Peer, peer: Peer): boolean {
    return isWithin(positionOfPeer(peer), positionOfPeer(predecessor), this.position)
  }

  #becomePredecessor(peer: Peer, nowMs: number): Handed {
    const after = this.#predecessor === undefined ? this.position : positionOfPeer(this.#predecessor)
    const handed = this.#events.handOver(after, positionOfPeer(peer), nowMs)
    this.#setPredecessor(peer, nowMs)
    return handed
  }

  #follow(from: Peer): object {
    const successor = this.#successors[0]!
    if (from !== this.self && this.#isNext(from, successor)) {
      this.#successors = this.#listOf(successor === this.self ? [from] : [from, ...this.#successors])
    }
    return {}
  }

  #answerLeaving(from: Peer, { predecessor, successors, handed }: Question<'leaving'>, nowMs: number): object {
    if (this.#predecessor === from) this.#setPredecessor(predecessor, nowMs)
    this.#events.take(handed, nowMs)
    if (this.#successors.includes(from)) {
      const rest = this.#successors.filter(peer => peer !== from)
      this.#successors = this.#listOf([...rest, ...successors.filter(peer => !rest.includes(peer))])
    }
    this.#fingers = this.#fingers.map(peer => (peer === from ? NO_PEER : peer))
    return {}
  }
}
