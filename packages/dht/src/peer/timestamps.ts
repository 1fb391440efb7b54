/**
 * KTS, the key-based timestamping service (Akbarinia, Pacitti, Valduriez 2007, section 4): the peer responsible for a key, by
 * the hash function of timestamps, keeps a counter for it. `generate` (gen_ts) counts up, `last` (last_ts) reads it.
 *
 * The counters in `#valid` are the paper's valid-counter set: one enters when it is initialised and leaves when the peer loses
 * responsibility. How a counter is initialised:
 * - **direct**: the peer that was responsible before hands it over, when it leaves or another joins;
 * - **indirect**, when the peer that was responsible before has failed: wait until timestamps that it gave have been stored,
 *   then read all replicas and continue from the highest;
 * - **by tenure**, our own, where there is a roster (`tenures.ts`): the only one of the three that is safe whatever happens.
 *
 * The first two are the paper's, and what they promise is likely, not certain: the highest timestamp may be on no replica that
 * is reached (section 4.2.2 gives the probability), a timestamp may still be on its way, and two peers may both think that
 * they are responsible. `recover` and `inspect` then correct counters later.
 *
 * **What the paper leaves open**: after an indirect initialisation its `last_ts` is one more than what any replica has, and
 * the same happens when a writer dies before it has stored anything. Every read would then go through all replicas. Here a
 * writer reports that its write is stored, and `last` returns the highest timestamp that is known to be stored, `committed`;
 * a later one that was given is returned beside it, `pending`, until `graceMs` have passed.
 */
import type { Effects, Meter, Then } from './calls.js'
import type { Chord } from './chord.js'
import type { Answer, Copy, HandedCounter, Question } from './messages.js'
import type { Replication } from './replication.js'
import { isWithin, positionOfKey, type RingPosition, TIMESTAMP_FUNCTION } from './ring.js'
import type { Inherited, Tenures } from './tenures.js'
import { compareTimestamps, laterOf, NO_TIMESTAMP, nextAfter, type Timestamp } from './timestamp.js'

export interface TimestampOptions {
  /** How long to wait before an indirect initialisation, counted from when responsibility began. */
  readonly waitMs: number
  readonly graceMs: number
  /** How many replicas are read at once in an indirect initialisation. The paper's loop has 1. */
  readonly readsAtOnce: number
  /** Which counters are handed over. */
  readonly handsOver: (key: string) => boolean
  /** The DHT does not notify a peer that it lost a key: so a counter is dropped after each timestamp. */
  readonly isLossUnaware: boolean
}

export interface Counter {
  last: Timestamp
  committed: Timestamp
  /** When `last` was given. */
  givenMs: number
  /** From then on it must not be used. */
  untilMs: number
  /** It continues from the timestamps found on replicas, which may not have been the highest. */
  isGuess: boolean
  hasGiven: boolean
}

export class Timestamps {
  readonly #chord: Chord
  readonly #replication: Replication
  readonly #effects: Effects
  readonly #options: TimestampOptions
  readonly #tenures: Tenures | undefined
  readonly #valid: Map<string, Counter>
  readonly #inherited = new Map<string, Inherited>()
  readonly #waiting = new Map<string, ((counter: Counter | undefined, messages: number, nowMs: number) => void)[]>()

  /** `valid` survives a crash if its owner keeps it, to recover from; its counters are no longer valid then. */
  constructor(
    parts: { readonly chord: Chord; readonly replication: Replication; readonly effects: Effects },
    options: TimestampOptions,
    tenures: Tenures | undefined,
    valid: Map<string, Counter>,
  ) {
    this.#chord = parts.chord
    this.#replication = parts.replication
    this.#effects = parts.effects
    this.#options = options
    this.#tenures = tenures
    this.#valid = valid
  }

  get counters(): ReadonlyMap<string, Readonly<Counter>> {
    return this.#valid
  }

  generate(key: string, nowMs: number, then: Then<Answer<'generate'>>): void {
    this.#withCounter(key, nowMs, (counter, messages, laterMs) => {
      if (counter === undefined) return then({ messages }, laterMs)
      counter.last = nextAfter(counter.last)
      counter.givenMs = laterMs
      counter.hasGiven = true
      const stamp = counter.last
      if (this.#options.isLossUnaware) this.drop(key)
      then({ stamp, messages }, laterMs)
    })
  }

  last(key: string, nowMs: number, then: Then<Answer<'last'>>): void {
    this.#withCounter(key, nowMs, (counter, messages, laterMs) => {
      if (counter === undefined) return then({ messages }, laterMs)
      const { last, committed, givenMs } = counter
      const isPending = counter.hasGiven && compareTimestamps(last, committed) > 0
      const isRecent = laterMs - givenMs < this.#options.graceMs
      then({ committed, messages, ...(isPending && isRecent && { pending: last }) }, laterMs)
    })
  }

  /** A write with this timestamp is stored. `then` gets false if that could not be recorded: then the write may be lost. */
  commit(key: string, stamp: Timestamp, nowMs: number, then: Then<boolean>): void {
    this.#withCounter(key, nowMs, (counter, _, laterMs) => {
      if (counter === undefined) return then(false, laterMs)
      if (compareTimestamps(stamp, counter.committed) <= 0) return then(true, laterMs)
      if (this.#tenures === undefined) {
        this.#note(counter, stamp)
        return then(true, laterMs)
      }
      this.#tenures.hold(key, counter.last.tenure, stamp, laterMs, (tenure, heldMs) => {
        if (tenure !== undefined) {
          counter.committed = laterOf(counter.committed, stamp)
          counter.untilMs = Math.max(counter.untilMs, tenure.untilMs)
        }
        then(tenure !== undefined, heldMs)
      })
    })
  }

  /** Takes out the counters of (after, upTo], and returns those that are handed over. */
  handOver(after: RingPosition, upTo: RingPosition): HandedCounter[] {
    const lost = [...this.#valid].filter(([key]) => isWithin(positionOfKey(key, TIMESTAMP_FUNCTION), after, upTo))
    for (const [key] of lost) this.drop(key)
    return lost
      .filter(([key]) => this.#options.handsOver(key))
      .map(([key, { last, committed }]) => ({ key, last, committed }))
  }

  /** The third rule of valid counters. */
  drop(key: string): void {
    this.#valid.delete(key)
  }

  take(handed: readonly HandedCounter[], nowMs: number): void {
    for (const { key, last, committed } of handed) {
      if (this.#tenures !== undefined) this.#inherited.set(key, { resigned: last.tenure, committed })
      else if (this.#chord.isResponsible(positionOfKey(key, TIMESTAMP_FUNCTION))) {
        const counter = this.#valid.get(key) ?? counterFrom(last, committed, nowMs)
        counter.last = laterOf(counter.last, last)
        counter.committed = laterOf(counter.committed, committed)
        this.#valid.set(key, counter)
      }
    }
  }

  /** A copy with a higher timestamp than the counter was found: the counter was initialised wrongly. */
  correct(key: string, found: Timestamp, nowMs: number): void {
    const counter = this.#valid.get(key)
    if (counter === undefined || this.#tenures !== undefined || compareTimestamps(found, counter.last) <= 0) return
    const wrong = counter.last
    counter.last = found
    counter.isGuess = false
    if (!counter.hasGiven) counter.committed = laterOf(counter.committed, found)
    // The value stamped with the wrong counter is the latest all the same: store it again, with a higher timestamp.
    else this.#storeAgain(key, wrong, nowMs)
  }

  /** Section 4.2.2, recovery: reports to the peers responsible now what the counters were before this peer failed. */
  recover(before: ReadonlyMap<string, Readonly<Counter>>, nowMs: number): void {
    for (const [key, { last }] of before) {
      const position = positionOfKey(key, TIMESTAMP_FUNCTION)
      this.#chord.askAt(position, { kind: 'correct', position, key, last }, nowMs, () => {})
    }
  }

  /** Section 4.2.2, periodic inspection: compares counters that may be wrong with the replicas. */
  inspect(nowMs: number): void {
    for (const [key, counter] of this.#valid) {
      if (counter.isGuess) this.#readHighest(key, { messages: 0 }, nowMs, (found, ms) => this.correct(key, found, ms))
    }
  }

  #note(counter: Counter, stamp: Timestamp): void {
    counter.committed = stamp
    counter.last = laterOf(counter.last, stamp)
  }

  #withCounter(
    key: string,
    nowMs: number,
    then: (counter: Counter | undefined, messages: number, nowMs: number) => void,
  ): void {
    const counter = this.#valid.get(key)
    if (counter !== undefined && nowMs < counter.untilMs) {
      then(counter, 0, nowMs)
      return
    }
    const waiting = this.#waiting.get(key)
    if (waiting !== undefined) {
      waiting.push(then)
      return
    }
    this.#waiting.set(key, [then])
    const meter = { messages: 0 }
    const finish: Then<Counter | undefined> = (initialised, laterMs) => {
      const isOurs = this.#chord.isResponsible(positionOfKey(key, TIMESTAMP_FUNCTION))
      const usable = isOurs && initialised !== undefined && laterMs < initialised.untilMs ? initialised : undefined
      if (usable !== undefined) this.#valid.set(key, usable)
      const all = this.#waiting.get(key) ?? []
      this.#waiting.delete(key)
      for (const each of all) each(usable, meter.messages, laterMs)
    }
    if (this.#tenures === undefined) this.#initialiseIndirectly(key, meter, nowMs, finish)
    else this.#initialiseByTenure(this.#tenures, key, nowMs, finish)
  }

  #initialiseByTenure(tenures: Tenures, key: string, nowMs: number, then: Then<Counter | undefined>): void {
    const inherited = this.#inherited.get(key) ?? { committed: NO_TIMESTAMP }
    this.#inherited.delete(key)
    tenures.claim(key, inherited, nowMs, (tenure, laterMs) => {
      if (tenure === undefined) return then(undefined, laterMs)
      const counter = counterFrom({ tenure: tenure.tenure, count: 0 }, tenure.committed, laterMs)
      counter.untilMs = tenure.untilMs
      then(counter, laterMs)
    })
  }

  #initialiseIndirectly(key: string, meter: Meter, nowMs: number, then: Then<Counter>): void {
    const sinceMs = this.#chord.responsibleSinceMs(positionOfKey(key, TIMESTAMP_FUNCTION))
    const leftMs = sinceMs + this.#options.waitMs - nowMs
    const read = (readMs: number) =>
      this.#readHighest(key, meter, readMs, (found, laterMs) => {
        // While replicas were read the counter may have been handed over after all.
        const counter = this.#valid.get(key) ?? counterFrom(nextAfter(found), found, laterMs)
        counter.isGuess = true
        then(counter, laterMs)
      })
    if (leftMs > 0 && Number.isFinite(leftMs)) this.#effects.after(leftMs, read)
    else read(nowMs)
  }

  #readHighest(key: string, meter: Meter, nowMs: number, then: Then<Timestamp>): void {
    this.#replication.read(key, { atOnce: this.#options.readsAtOnce, meter }, nowMs, (copies, laterMs) =>
      then(
        copies.reduce((highest, copy) => laterOf(highest, copy?.stamp ?? NO_TIMESTAMP), NO_TIMESTAMP),
        laterMs,
      ),
    )
  }

  #storeAgain(key: string, wrong: Timestamp, nowMs: number): void {
    const isIt = (copy: Copy) => compareTimestamps(copy.stamp, wrong) === 0
    const meter = { messages: 0 }
    this.#replication.read(key, { atOnce: 1, meter, isEnough: isIt }, nowMs, (copies, readMs) => {
      const copy = copies.find(each => each !== undefined && isIt(each))
      if (copy === undefined) return
      this.generate(key, readMs, (answer, givenMs) => {
        const stamp = answer?.stamp
        if (stamp === undefined) return
        const again = { stamp, value: copy.value }
        this.#replication.write(key, again, false, meter, givenMs, (stored, storedMs) => {
          if (stored > 0) this.commit(key, stamp, storedMs, () => {})
        })
      })
    })
  }

  answer(question: Question, nowMs: number, reply: (answer: Answer) => void): boolean {
    switch (question.kind) {
      case 'generate':
        this.generate(question.key, nowMs, reply)
        return true
      case 'last':
        this.last(question.key, nowMs, reply)
        return true
      case 'commit':
        this.commit(question.key, question.stamp, nowMs, isCommitted => reply({ isCommitted }))
        return true
      case 'correct':
        this.correct(question.key, question.last, nowMs)
        reply({})
        return true
      default:
        return false
    }
  }
}

function counterFrom(last: Timestamp, committed: Timestamp, nowMs: number): Counter {
  return { last, committed, givenMs: nowMs, untilMs: Number.POSITIVE_INFINITY, isGuess: false, hasGiven: false }
}
