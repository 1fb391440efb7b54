/**
 * UMS, the update management service (Akbarinia, Pacitti, Valduriez 2007, section 3): writes that have one order, and reads
 * that know whether the value they found is current.
 *
 * `insert` gets a timestamp for the key and puts {value, timestamp} in every replica; then it reports that the write is stored.
 * The write is acknowledged only when that report is. `retrieve` asks for the last timestamp and reads replicas one after the
 * other until one has it: that copy is certainly current, and no other need be asked. If no replica has it, the most recent
 * copy is returned as not certain.
 *
 * A replica may have a later timestamp than the last committed one: from a writer that is not done yet, or has died. Before it
 * is returned as current, the reader reports it as stored on the writer's behalf; otherwise a later read might find that it is
 * not current.
 */
import type { Meter, Then } from './calls.js'
import type { Chord } from './chord.js'
import type { Answer, Copy } from './messages.js'
import type { Replication } from './replication.js'
import { positionOfKey, TIMESTAMP_FUNCTION } from './ring.js'
import { compareTimestamps, NO_TIMESTAMP, type Timestamp } from './timestamp.js'

export interface UpdateOptions {
  /** How many replicas must have taken a write before it is reported as stored. */
  readonly copiesMin: number
  /** How many times the usual time-out to wait for a timestamp: the peer that gives it may have to ask others first. */
  readonly patience: number
  /**
   * How many replicas are read at the same time as the last timestamp. The paper has none; one makes a read one look-up faster.
   */
  readonly readsAhead: number
}

/** 'refused': nothing was written. 'unknown': some replicas may have the value, and it may yet become current. */
export interface InsertOutcome {
  readonly state: 'committed' | 'unknown' | 'refused'
  readonly stamp: Timestamp
  readonly messages: number
}

export interface RetrieveOutcome {
  readonly value: unknown
  readonly stamp: Timestamp
  /** Nothing later was acknowledged when this read began. */
  readonly isCurrent: boolean
  /** How many replicas were asked. */
  readonly replicas: number
  readonly messages: number
}

const COMMIT_ATTEMPTS = 3

export class Updates {
  readonly #chord: Chord
  readonly #replication: Replication
  readonly #options: UpdateOptions

  constructor(chord: Chord, replication: Replication, options: UpdateOptions) {
    this.#chord = chord
    this.#replication = replication
    this.#options = options
  }

  insert(key: string, value: unknown, nowMs: number, then: Then<InsertOutcome>): void {
    const meter = { messages: 0 }
    const position = positionOfKey(key, TIMESTAMP_FUNCTION)
    const end = (state: InsertOutcome['state'], stamp: Timestamp, endMs: number) =>
      then({ state, stamp, messages: meter.messages }, endMs)
    const store: Then<Answer<'generate'>> = (answer, givenMs) => {
      meter.messages += answer?.messages ?? 0
      const stamp = answer?.stamp
      if (stamp === undefined) return end('refused', NO_TIMESTAMP, givenMs)
      this.#replication.write(key, { stamp, value }, false, meter, givenMs, (stored, storedMs) => {
        if (stored < this.#options.copiesMin) return end('unknown', stamp, storedMs)
        this.#commit(key, stamp, meter, storedMs, (isCommitted, endMs) =>
          end(isCommitted ? 'committed' : 'unknown', stamp, endMs),
        )
      })
    }
    const { patience } = this.#options
    this.#chord.askAt(position, { kind: 'generate', position, key }, nowMs, store, { meter, patience })
  }

  retrieve(key: string, nowMs: number, then: Then<RetrieveOutcome>): void {
    const meter = { messages: 0 }
    const position = positionOfKey(key, TIMESTAMP_FUNCTION)
    const { patience, readsAhead } = this.#options
    const search = new CopySearch(key, this.#replication, meter, readsAhead, nowMs)
    const take: Then<Answer<'last'>> = (answer, answeredMs) => {
      meter.messages += answer?.messages ?? 0
      const committed = answer?.committed
      const wanted = answer?.pending ?? committed
      search.upTo(wanted, answeredMs, (best, foundMs) => {
        const found = best ?? { stamp: NO_TIMESTAMP, value: undefined }
        const end: Then<boolean> = (isCurrent, endMs) =>
          then({ ...found, isCurrent, replicas: search.asked, messages: meter.messages }, endMs)
        const order = committed === undefined ? -1 : compareTimestamps(found.stamp, committed)
        if (order <= 0) end(order === 0, foundMs)
        else this.#commit(key, found.stamp, meter, foundMs, end)
      })
    }
    this.#chord.askAt(position, { kind: 'last', position, key }, nowMs, take, { meter, patience })
  }

  #commit(key: string, stamp: Timestamp, meter: Meter, nowMs: number, then: Then<boolean>): void {
    const position = positionOfKey(key, TIMESTAMP_FUNCTION)
    const { patience } = this.#options
    const attempt = (attempts: number, askedMs: number): void => {
      const take: Then<Answer<'commit'>> = (answer, answeredMs) => {
        if (answer?.isCommitted === true || attempts === COMMIT_ATTEMPTS) {
          return then(answer?.isCommitted === true, answeredMs)
        }
        attempt(attempts + 1, answeredMs)
      }
      this.#chord.askAt(position, { kind: 'commit', position, key, stamp }, askedMs, take, { meter, patience })
    }
    attempt(1, nowMs)
  }
}

/** Reads replicas one after the other; the first ones may be read before the wanted timestamp is known. */
class CopySearch {
  readonly #key: string
  readonly #replication: Replication
  readonly #meter: Meter
  asked = 0
  #answered = 0
  #best: Copy | undefined
  #wanted: Timestamp | undefined
  #then: Then<Copy | undefined> | undefined

  constructor(key: string, replication: Replication, meter: Meter, readsAhead: number, nowMs: number) {
    this.#key = key
    this.#replication = replication
    this.#meter = meter
    for (let i = 0; i < readsAhead; i++) this.#ask(nowMs)
  }

  /** Reads until a replica has this timestamp or a later one, or there are no more. If it is undefined: reads all. */
  upTo(wanted: Timestamp | undefined, nowMs: number, then: Then<Copy | undefined>): void {
    this.#wanted = wanted
    this.#then = then
    this.#goOn(nowMs)
  }

  #goOn(nowMs: number): void {
    const then = this.#then
    if (then === undefined) return
    const found = this.#best?.stamp ?? NO_TIMESTAMP
    const isFound = this.#wanted !== undefined && compareTimestamps(found, this.#wanted) >= 0
    if (isFound || this.#answered === this.#replication.replicas) {
      this.#then = undefined
      then(this.#best, nowMs)
    } else if (this.#answered === this.asked) this.#ask(nowMs)
  }

  #ask(nowMs: number): void {
    this.asked++
    this.#replication.get(this.#key, this.asked, nowMs, this.#meter, (copy, laterMs) => {
      this.#answered++
      if (copy !== undefined && compareTimestamps(copy.stamp, this.#best?.stamp ?? NO_TIMESTAMP) > 0) this.#best = copy
      this.#goOn(laterMs)
    })
  }
}
