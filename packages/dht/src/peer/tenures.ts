/**
 * Which peer may give timestamps for a key, with certainty. Chord's opinion on responsibility is not enough: in a partition both
 * sides have one. So the responsible peer has itself made the key's holder by a majority of the roster (`guard.ts`), for a
 * tenure, and stops when it has not heard from a majority for as long as their promise runs.
 *
 * Why it is safe, whatever messages and peers do:
 * - Two majorities have a guard in common, and a guard grants a tenure once. So a tenure has one holder, and since timestamps
 *   begin with the tenure, no timestamp is given twice.
 * - A guard counts its promise from when it got the question, the holder from before it asked, and allows for clocks that run
 *   wrong by `driftMax`. So while a holder may answer, no other peer can have been granted a later tenure, unless the holder
 *   itself has resigned. So timestamps also grow in the order in which they are given.
 * - A committed timestamp is recorded by a majority, under the tenure, before it is reported to any client. A peer that gets the
 *   next tenure asks a majority. So `last_ts` is never below what was acknowledged; a read that finds a copy with that timestamp
 *   is current.
 *
 * This relies on two things: a majority of the roster keeps its memory (a member that lost it is taken out and comes back as
 * another), and clocks measure durations with an error of at most `driftMax`. The time of day does not matter.
 *
 * (Leases after Gray and Cheriton 1989; one vote per tenure and reading before the first use, as in Paxos' first phase.)
 */
import type { Calls, Effects, Then } from './calls.js'
import type { Guard } from './guard.js'
import type { GuardAnswer, Question } from './messages.js'
import type { Peer } from './ring.js'
import { compareTimestamps, laterOf, type Timestamp } from './timestamp.js'

export interface Tenure {
  readonly tenure: number
  readonly committed: Timestamp
  /** By our own clock: from then on we must not answer. */
  readonly untilMs: number
}

/** What is known before asking: the timestamp of a holder that has resigned, and the highest that was committed. */
export interface Inherited {
  readonly resigned?: number
  readonly committed: Timestamp
}

export interface TenuresOptions {
  readonly calls: Calls
  readonly guard: Guard
  readonly effects: Effects
  /** How long a guard grants a tenure. */
  readonly promiseMs: number
  /** The share by which a clock may run wrong. */
  readonly driftMax: number
}

interface Round {
  readonly granted: readonly Timestamp[]
  readonly isMajority: boolean
  /** Some guards did not vote, because the membership is changing. */
  readonly isUnsettled: boolean
  readonly tenureMax: number
  readonly leftMsMax: number
}

/** For attempts that failed because another peer holds the key, or because no guard answered. */
const ATTEMPTS_MAX = 4
/** For attempts that failed because the membership was changing, which is soon over. */
const UNSETTLED = { attemptsMax: 12, pauseMs: 40 }

export class Tenures {
  readonly #options: TenuresOptions

  constructor(options: TenuresOptions) {
    this.#options = options
  }

  /** How long a holder may answer, by its own clock. */
  get #leaseMs(): number {
    const { promiseMs, driftMax } = this.#options
    return (promiseMs * (1 - driftMax)) / (1 + driftMax)
  }

  /** Becomes the key's holder. Undefined if no majority granted it: then the peer must refuse. */
  claim(key: string, inherited: Inherited, nowMs: number, then: Then<Tenure | undefined>): void {
    const after = inherited.resigned
    let unsettled = 0
    const attempt = (tenure: number, attempts: number, askedMs: number): void => {
      const { version } = this.#options.guard.roster
      const claim = this.#options.calls.nextNumber()
      const question = { kind: 'claim', version, key, tenure, claim, ...(after !== undefined && { after }) } as const
      this.#ask(question, askedMs, (round, answeredMs) => {
        const committed = round.granted.reduce(laterOf, inherited.committed)
        const untilMs = askedMs + this.#leaseMs
        if (round.isMajority) return this.#settle(key, { tenure, committed, untilMs }, round, answeredMs, then)
        for (const member of this.#options.guard.roster.members) {
          this.#options.calls.ask(member, { kind: 'release', key, claim }, answeredMs, () => {})
        }
        const isPaused = round.isUnsettled && unsettled++ < UNSETTLED.attemptsMax
        const left = isPaused ? attempts : attempts + 1
        if (left > ATTEMPTS_MAX || this.#options.guard.roster.members.length === 0) return then(undefined, answeredMs)
        // The wait of section 4.2.2: the last holder may answer until its promise has run out.
        const pauseMs = Math.max(round.leftMsMax + 1, isPaused ? UNSETTLED.pauseMs : 0)
        const again = (laterMs: number) => attempt(Math.max(tenure, round.tenureMax) + 1, left, laterMs)
        this.#options.effects.after(pauseMs, again)
      })
    }
    attempt(Math.max(after ?? 0, this.#options.guard.entryOf(key).tenure) + 1, 1, nowMs)
  }

  /** Records what is committed, and stays the holder. Undefined if another peer is, or no majority answered. */
  hold(key: string, tenure: number, committed: Timestamp, nowMs: number, then: Then<Tenure | undefined>): void {
    const attempt = (attempts: number, askedMs: number): void => {
      const { version } = this.#options.guard.roster
      this.#ask({ kind: 'hold', version, key, tenure, committed }, askedMs, ({ isMajority, isUnsettled }, laterMs) => {
        if (isMajority) return then({ tenure, committed, untilMs: askedMs + this.#leaseMs }, laterMs)
        if (!isUnsettled || attempts === UNSETTLED.attemptsMax) return then(undefined, laterMs)
        this.#options.effects.after(UNSETTLED.pauseMs, againMs => attempt(attempts + 1, againMs))
      })
    }
    attempt(1, nowMs)
  }

  /**
   * A timestamp that only part of the majority had recorded is recorded by a majority before it is reported to any client. The
   * next holder might ask other guards, and then a value that was current would no longer be.
   */
  #settle(key: string, tenure: Tenure, { granted }: Round, nowMs: number, then: Then<Tenure | undefined>): void {
    if (granted.every(stamp => compareTimestamps(stamp, tenure.committed) === 0)) then(tenure, nowMs)
    else this.hold(key, tenure.tenure, tenure.committed, nowMs, then)
  }

  #ask(question: Question<'claim'> | Question<'hold'>, nowMs: number, then: Then<Round>): void {
    const { members } = this.#options.guard.roster
    const needed = Math.floor(members.length / 2) + 1
    const granted: Timestamp[] = []
    let [answered, tenureMax, leftMsMax, isUnsettled, isOver] = [0, 0, 0, false, false]
    const take = (member: Peer): Then<GuardAnswer | undefined> => {
      return (answer, laterMs) => {
        answered++
        if (answer?.isGranted === true) granted.push(answer.committed)
        else if (answer !== undefined) {
          tenureMax = Math.max(tenureMax, answer.tenure)
          leftMsMax = Math.max(leftMsMax, answer.leftMs)
          isUnsettled ||= !answer.isVoting
          this.#compareRosters(member, answer, laterMs)
        }
        const isMajority = granted.length >= needed
        if (isOver || !(isMajority || answered === members.length)) return
        isOver = true
        then({ granted, isMajority, isUnsettled, tenureMax, leftMsMax }, laterMs)
      }
    }
    if (members.length === 0) {
      then({ granted, isMajority: false, isUnsettled, tenureMax, leftMsMax }, nowMs)
      return
    }
    for (const member of members) this.#options.calls.ask(member, question as Question<'claim'>, nowMs, take(member))
  }

  #compareRosters(member: Peer, { roster }: GuardAnswer & { readonly isGranted: false }, nowMs: number): void {
    this.#options.guard.adopt(roster, nowMs)
    if (roster.version < this.#options.guard.roster.version) {
      this.#options.calls.ask(member, { kind: 'roster', ...this.#options.guard.roster }, nowMs, () => {})
    }
  }
}
